// Where the unit uses memory by its name, and who calls whom: what a value can be followed through. As the
// source has it: before anything is optimised, at any level.
//
// Followed are variables that nobody else can name or find: those of functions, and static ones of the unit;
// and the fields of the data that a parallel region is handed (.omp_data_s), of which each is one variable
// of the construct.

#include "memory/uses.h"
#include "segments/shown.h"
#include "memory/memory.h"
#include "cgraph.h"
#include "ssa.h"
#include "gimple-walk.h"
#include "memory/pointers.h"
#include "tree-dfa.h"
#include <set>

namespace promp {

/// Is it the type of a region's data?
static bool is_data (tree type)
{
  tree name = type && TREE_CODE (type) == RECORD_TYPE ? TYPE_NAME (type) : NULL_TREE;
  if (name && TREE_CODE (name) == TYPE_DECL)
    name = DECL_NAME (name);
  return name && !strncmp (IDENTIFIER_POINTER (name), ".omp_data_s", 11);
}

static bool is_variable (tree t)
{
  return VAR_P (t) || TREE_CODE (t) == PARM_DECL || TREE_CODE (t) == RESULT_DECL;
}

tree named_by (tree ref)
{
  while (handled_component_p (ref))
    {
      tree of = TREE_OPERAND (ref, 0);
      if (TREE_CODE (ref) == COMPONENT_REF && is_data (DECL_CONTEXT (TREE_OPERAND (ref, 1)))
          && (is_variable (of) || TREE_CODE (of) == MEM_REF))
        return TREE_OPERAND (ref, 1);
      ref = of;
    }
  if (TREE_CODE (ref) == MEM_REF && TREE_CODE (TREE_OPERAND (ref, 0)) == ADDR_EXPR)
    return named_by (TREE_OPERAND (TREE_OPERAND (ref, 0), 0));
  return is_variable (ref) ? ref : NULL_TREE;
}

namespace {

struct Statement
{
  std::set<tree> loads, stores, addresses, mentioned;
};

bool note_load (gimple *, tree, tree op, void *data)
{
  if (tree d = named_by (op))
    ((Statement *)data)->loads.insert (d);
  return false;
}

bool note_store (gimple *, tree, tree op, void *data)
{
  if (tree d = named_by (op))
    ((Statement *)data)->stores.insert (d);
  return false;
}

bool note_address (gimple *, tree of, tree, void *data)
{
  if (tree d = named_by (of))
    ((Statement *)data)->addresses.insert (d);
  return false;
}

tree note_mentioned (tree *t, int *, void *data)
{
  Statement &s = *(Statement *)data;
  bool field = TREE_CODE (*t) == FIELD_DECL && is_data (DECL_CONTEXT (*t));
  if (is_variable (*t) || field || TREE_CODE (*t) == FUNCTION_DECL)
    s.mentioned.insert (*t);
  return NULL_TREE;
}

} // namespace

static tree is_it (tree *t, int *, void *what) { return *t == (tree)what ? *t : NULL_TREE; }

bool mentions (tree where, tree what)
{
  return where && walk_tree_without_duplicates (&where, is_it, what);
}

Uses::Uses ()
{
  cgraph_node *node;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY (node)
  {
    function *fn = DECL_STRUCT_FUNCTION (node->decl);
    if (node->thunk || node->alias || node->clone_of)
      continue;
    if (fn && fn->cfg && gimple_in_ssa_p (fn))
      bodies_[node->decl] = fn;
    else
      unseen_ = true;
  }
  for (auto &b : bodies_)
    survey (b.second);
  // What is named in data.
  varpool_node *v;
  FOR_EACH_VARIABLE (v)
    if (tree initial = DECL_INITIAL (v->decl))
      if (initial != error_mark_node)
        {
          Statement s;
          walk_tree_without_duplicates (&initial, note_mentioned, &s);
          for (tree d : s.mentioned)
            uses_[d].push_back ({ Named::ADDRESS, nullptr, nullptr });
        }
  for (asm_node *a = symtab->first_asm_symbol (); a; a = safe_as_a<asm_node *> (a->next))
    assembler_ += std::string (TREE_STRING_POINTER (a->asm_str)) + "\n";
}

void Uses::survey (function *fn)
{
  for (tree p = DECL_ARGUMENTS (fn->decl); p; p = DECL_CHAIN (p))
    if (is_data (TREE_TYPE (p)))
      records_[TYPE_MAIN_VARIANT (TREE_TYPE (p))].push_back (p);
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
  {
    std::vector<gimple *> all;
    for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
      all.push_back (p.phi ());
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      if (!is_gimple_debug (gsi_stmt (i)))
        all.push_back (gsi_stmt (i));
    for (gimple *s : all)
      {
        Statement is;
        walk_stmt_load_store_addr_ops (s, &is, note_load, note_store, note_address);
        if (gphi *p = dyn_cast<gphi *> (s))
          for (unsigned k = 0; k < gimple_phi_num_args (p); k++)
            walk_tree_without_duplicates (gimple_phi_arg_def_ptr (p, k), note_mentioned, &is);
        else
          for (unsigned k = 0; k < gimple_num_ops (s); k++)
            if (gimple_op (s, k) && !(is_gimple_call (s) && k == 1 && gimple_call_fndecl (s)))
              walk_tree_without_duplicates (gimple_op_ptr (s, k), note_mentioned, &is);
        if (gasm *a = dyn_cast<gasm *> (s))
          assembler_ += std::string (gimple_asm_string (a)) + "\n";
        for (tree d : is.loads)
          uses_[d].push_back ({ Named::LOAD, fn, s });
        for (tree d : is.stores)
          uses_[d].push_back ({ Named::STORE, fn, s });
        // Whatever is neither read nor written may have its address taken.
        for (tree d : is.mentioned)
          {
            bool inside = is_variable (d) && is_data (TREE_TYPE (d));
            if (!is.loads.count (d) && !is.stores.count (d) && !(inside && is_gimple_assign (s)))
              is.addresses.insert (d);
            if (inside)
              {
                std::vector<tree> &all = records_[TYPE_MAIN_VARIANT (TREE_TYPE (d))];
                if (all.empty () || all.back () != d)
                  all.push_back (d);
              }
          }
        for (tree d : is.addresses)
          uses_[d].push_back ({ Named::ADDRESS, fn, s });
        if (gcall *c = dyn_cast<gcall *> (s))
          {
            if (tree d = gimple_call_fndecl (c))
              calls_[d].push_back ({ fn, c });
            if (asked_routine (c))
              asking_.push_back ({ fn, c });
          }
      }
  }
}

bool Uses::is_in_assembler (const std::string &name) const
{
  auto ends = [&] (size_t i) {
    return i >= assembler_.size () || (!ISALNUM (assembler_[i]) && !strchr ("_.$", assembler_[i]));
  };
  for (size_t i = assembler_.find (name); i != std::string::npos; i = assembler_.find (name, i + 1))
    if ((!i || ends (i - 1)) && ends (i + name.size ()))
      return true;
  return false;
}

const std::vector<Named> &Uses::of (tree memory) const
{
  static const std::vector<Named> none;
  auto u = uses_.find (memory);
  return u == uses_.end () ? none : u->second;
}

function *Uses::body (tree decl) const
{
  auto b = decl ? bodies_.find (decl) : bodies_.end ();
  if (b == bodies_.end () || DECL_EXTERNAL (decl))
    return nullptr;
  return cgraph_node::get (decl)->get_availability () >= AVAIL_AVAILABLE ? b->second : nullptr;
}

const std::vector<std::pair<function *, gcall *>> *Uses::calls_of (tree decl) const
{
  cgraph_node *n = cgraph_node::get (decl);
  auto c = calls_.find (decl);
  if (!n || TREE_PUBLIC (decl) || n->externally_visible || n->alias || n->has_aliases_p ()
      || DECL_PRESERVE_P (decl) || !of (decl).empty () || unseen_ || c == calls_.end ())
    return nullptr;
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  return is_in_assembler (name + (*name == '*')) ? nullptr : &c->second;
}

/// Are regions handed data of this type only as GCC does it: a variable of the function's, whose address they
/// get, and of which they use fields?
bool Uses::is_handed_over (tree record) const
{
  auto r = records_.find (record);
  if (r == records_.end ())
    return false;
  for (tree d : r->second)
    {
      if (!VAR_P (d) || TREE_STATIC (d))
        return false;
      for (const Named &u : of (d))
        {
          if (u.kind == Named::STORE && gimple_clobber_p (u.stmt))
            continue;
          tree region = u.kind == Named::ADDRESS && u.stmt ? region_of (u.stmt) : NULL_TREE;
          auto b = region ? bodies_.find (region) : bodies_.end ();
          if (b == bodies_.end () || gimple_call_num_args (u.stmt) < 2)
            return false;
          tree to = gimple_call_arg (u.stmt, 1), p = DECL_ARGUMENTS (region);
          if (TREE_CODE (to) != ADDR_EXPR || TREE_OPERAND (to, 0) != d || !p
              || !POINTER_TYPE_P (TREE_TYPE (p)) || !is_gimple_reg (p)
              || TYPE_MAIN_VARIANT (TREE_TYPE (TREE_TYPE (p))) != record)
            return false;
          tree name = ssa_default_def (b->second, p);
          imm_use_iterator i;
          use_operand_p use;
          if (name)
            FOR_EACH_IMM_USE_FAST (use, i, name)
              {
                gimple *s = USE_STMT (use);
                if (is_gimple_debug (s))
                  continue;
                if (gimple_code (s) == GIMPLE_PHI)
                  return false;
                // As the beginning of references only.
                for (unsigned k = 0; k < gimple_num_ops (s); k++)
                  if (tree op = gimple_op (s, k))
                    if (mentions (op, name))
                      {
                        tree to = named_by (TREE_CODE (op) == ADDR_EXPR ? TREE_OPERAND (op, 0) : op);
                        if (!to || TREE_CODE (to) != FIELD_DECL)
                          return false;
                      }
              }
        }
    }
  return true;
}

bool Uses::is_followed (tree memory) const
{
  if (TREE_CODE (memory) == FIELD_DECL)
    return is_handed_over (DECL_CONTEXT (memory));
  if (TREE_CODE (memory) == PARM_DECL)
    return !DECL_BY_REFERENCE (memory);
  if (!VAR_P (memory) || DECL_EXTERNAL (memory) || TREE_PUBLIC (memory) || DECL_HARD_REGISTER (memory)
      || DECL_THREAD_LOCAL_P (memory) || is_data (TREE_TYPE (memory)))
    return false;
  if (!TREE_STATIC (memory))
    return true;
  varpool_node *v = varpool_node::get (memory);
  if (!v || v->externally_visible || v->alias || v->has_aliases_p () || DECL_PRESERVE_P (memory)
      || DECL_SECTION_NAME (memory) || unseen_)
    return false;
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (memory));
  return !is_in_assembler (name + (*name == '*'));
}

} // namespace promp
