// Where the pointers of a unit lead: objects, and slots of them at constant offsets, regardless of the order
// of what is executed (Andersen's way). An object is a variable, or what one allocation returns. One whose
// address gets to where this unit does not see it is known to others: these may read, write and keep it,
// and all that it leads to. What is not a pointer cannot become one here: a pointer that is converted to an
// integer, or is read as one, is known to others.

#include "memory/pointers.h"
#include "memory/memory.h"
#include "cgraph.h"
#include "ssa.h"
#include "tree-dfa.h"
#include "gimple-walk.h"
#include "attribs.h"
#include <iterator>

namespace promp {

/// So many offsets of one object in one set; more are any.
static const int OFFSETS = 12;
/// So many rounds over the unit, and so many targets of one pointer.
static const unsigned ROUNDS = 40, TARGETS = 200;

static bool is_call_of (gimple *s, const char *prefix)
{
  return !strncmp (callee_name (s), prefix, strlen (prefix));
}

tree region_of (gimple *s)
{
  if (!is_call_of (s, "GOMP_parallel") || gimple_call_num_args (s) < 1)
    return NULL_TREE;
  tree f = gimple_call_arg (s, 0);
  return TREE_CODE (f) == ADDR_EXPR && TREE_CODE (TREE_OPERAND (f, 0)) == FUNCTION_DECL ? TREE_OPERAND (f, 0)
                                                                                        : NULL_TREE;
}

/// The name that `s` is linked by: nobody's method is called `free`.
static const char *symbol (gimple *s)
{
  tree decl = is_gimple_call (s) ? gimple_call_fndecl (s) : NULL_TREE;
  if (!decl || !TREE_PUBLIC (decl) || !HAS_DECL_ASSEMBLER_NAME_P (decl))
    return "";
  const char *name = IDENTIFIER_POINTER (DECL_ASSEMBLER_NAME (decl));
  return name + (*name == '*');
}

bool is_allocation (gimple *s)
{
  for (const char *n : { "malloc", "calloc", "aligned_alloc", "memalign", "_Znwm", "_Znam",
                         "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t" })
    if (!strcmp (symbol (s), n))
      return true;
  return false;
}

static bool frees (gimple *s)
{
  return !strcmp (symbol (s), "free") || !strncmp (symbol (s), "_ZdlPv", 6)
         || !strncmp (symbol (s), "_ZdaPv", 6);
}

/// Calls that keep no pointer that they are given, and write nothing but numbers.
bool keeps_nothing (gimple *s)
{
  for (const char *n : { "GOMP_loop_", "GOMP_barrier", "GOMP_single_start", "GOMP_critical_", "GOMP_atomic_",
                         "GOMP_sections_", "GOMP_ordered_", "omp_get_", "__promp_" })
    if (!strncmp (callee_name (s), n, strlen (n)) && gimple_call_fndecl (s)
        && DECL_EXTERNAL (gimple_call_fndecl (s)))
      return true;
  return frees (s);
}

bool is_of_numbers (gimple *s)
{
  for (unsigned i = 0; i < gimple_call_num_args (s); i++)
    if (!SCALAR_FLOAT_TYPE_P (TREE_TYPE (gimple_call_arg (s, i)))
        && !INTEGRAL_TYPE_P (TREE_TYPE (gimple_call_arg (s, i))))
      return false;
  return true;
}

bool is_value (tree t)
{
  return TREE_CODE (t) == SSA_NAME || TREE_CODE (t) == ADDR_EXPR || CONSTANT_CLASS_P (t);
}

HOST_WIDE_INT Pointers::size_of (tree type)
{
  tree s = TYPE_SIZE_UNIT (type);
  return s && tree_fits_shwi_p (s) ? tree_to_shwi (s) : ANYWHERE;
}

unsigned Pointers::number_of (tree decl) const
{
  auto n = numbers_.find (decl);
  return n == numbers_.end () ? UNKNOWN : n->second;
}

unsigned Pointers::object_of (tree decl)
{
  auto n = numbers_.find (decl);
  if (n != numbers_.end ())
    return n->second;
  State s;
  s.is = { decl, nullptr, DECL_CONTEXT (decl) };
  objects_.push_back (s);
  unsigned o = objects_.size () - 1;
  numbers_[decl] = o;
  if (TREE_STATIC (decl) || DECL_EXTERNAL (decl))
    {
      varpool_node *v = varpool_node::get (decl);
      ipa_ref *ref = nullptr;
      bool shared = !v || TREE_PUBLIC (decl) || DECL_EXTERNAL (decl) || v->externally_visible || v->alias
                    || v->has_aliases_p () || DECL_PRESERVE_P (decl)
                    || lookup_attribute ("section", DECL_ATTRIBUTES (decl));
      for (unsigned k = 0; v && v->iterate_referring (k, ref); k++)
        shared = shared || is_a<varpool_node *> (ref->referring);
      if (shared)
        escape ({ { o, 0 } });
      // Addresses in it are those of variables, which are known to others by that.
      if (!v || v->iterate_reference (0, ref))
        objects_[o].slots[ANYWHERE].insert ({ UNKNOWN, ANYWHERE });
    }
  else if (TREE_CODE (decl) != VAR_DECL)
    escape ({ { o, 0 } });
  changed_ = true;
  return o;
}

bool Pointers::merge (Targets &to, const Targets &what)
{
  bool changed = false;
  for (const Target &t : what)
    if (!to.count (t) && !to.count ({ t.first, ANYWHERE }))
      {
        auto from = to.lower_bound ({ t.first, ANYWHERE }), end = to.lower_bound ({ t.first + 1, ANYWHERE });
        if (t.second == ANYWHERE || std::distance (from, end) >= OFFSETS)
          {
            to.erase (from, end);
            to.insert ({ t.first, ANYWHERE });
          }
        else
          to.insert (t);
        changed = true;
      }
  return changed;
}

void Pointers::add (Targets &to, const Targets &what)
{
  changed_ |= merge (to, what);
  too_much_ |= to.size () > TARGETS;
}

void Pointers::into (tree name, const Targets &what)
{
  if (TREE_CODE (name) == SSA_NAME)
    {
      if (POINTER_TYPE_P (TREE_TYPE (name)))
        add (names_[name], what);
      else
        escape (what);
    }
}

void Pointers::escape (const Targets &t)
{
  for (const Target &x : t)
    {
      State &o = objects_[x.first];
      if (o.escaped)
        continue;
      o.escaped = changed_ = true;
      std::map<HOST_WIDE_INT, Targets> slots = o.slots;
      o.slots[ANYWHERE].insert ({ UNKNOWN, ANYWHERE });
      for (auto &s : slots)
        escape (s.second);
    }
}

Targets Pointers::moved (const Targets &t, tree by)
{
  Targets out;
  for (const Target &x : t)
    {
      HOST_WIDE_INT offset = ANYWHERE;
      tree decl = objects_[x.first].is.decl;
      if (x.second != ANYWHERE && by && tree_fits_shwi_p (fold_convert (ssizetype, by)))
        {
          offset = x.second + tree_to_shwi (fold_convert (ssizetype, by));
          HOST_WIDE_INT most = decl ? size_of (TREE_TYPE (decl)) : 4096;
          if (offset < 0 || offset > most)
            offset = ANYWHERE;
        }
      out.insert ({ x.first, offset });
    }
  return out;
}

Targets Pointers::of (tree value)
{
  if (!value)
    return {};
  switch (TREE_CODE (value))
    {
      case SSA_NAME: {
        tree var = SSA_NAME_VAR (value);
        Targets t;
        if (SSA_NAME_IS_DEFAULT_DEF (value) && var && TREE_CODE (var) == RESULT_DECL)
          return { { UNKNOWN, ANYWHERE } };
        auto n = names_.find (value);
        return n == names_.end () ? t : n->second;
      }
    case ADDR_EXPR:
      return at (TREE_OPERAND (value, 0));
    case INTEGER_CST:
    case REAL_CST:
    case COMPLEX_CST:
    case STRING_CST:
    case CONSTRUCTOR:
      return {};
    default:
      return { { UNKNOWN, ANYWHERE } };
    }
}

Targets Pointers::at (tree ref)
{
  poly_int64 offset = 0;
  tree base = get_addr_base_and_unit_offset (ref, &offset);
  HOST_WIDE_INT at = ANYWHERE;
  bool constant = base && offset.is_constant (&at);
  if (!base)
    base = get_base_address (ref);
  if (!base)
    return { { UNKNOWN, ANYWHERE } };
  Targets out;
  if (TREE_CODE (base) == MEM_REF)
    {
      tree by = constant ? size_binop (PLUS_EXPR, build_int_cst (ssizetype, at),
                                       fold_convert (ssizetype, TREE_OPERAND (base, 1)))
                         : NULL_TREE;
      return moved (of (TREE_OPERAND (base, 0)), by);
    }
  if (TREE_CODE (base) == TARGET_MEM_REF)
    return moved (of (TREE_OPERAND (base, 0)), NULL_TREE);
  if (TREE_CODE (base) == FUNCTION_DECL || TREE_CODE (base) == LABEL_DECL || TREE_CODE (base) == STRING_CST)
    return {};
  if (!DECL_P (base) || TREE_CODE (base) == CONST_DECL)
    return { { UNKNOWN, ANYWHERE } };
  return { { object_of (base), constant && at >= 0 ? at : ANYWHERE } };
}

Targets Pointers::contents (const Targets &where, HOST_WIDE_INT size)
{
  Targets out;
  for (const Target &t : where)
    {
      if (is_known_to_others (t.first))
        out.insert ({ UNKNOWN, ANYWHERE });
      for (auto &s : objects_[t.first].slots)
        if (s.first == ANYWHERE || t.second == ANYWHERE || size == ANYWHERE
            || (s.first < t.second + size && t.second < s.first + 8))
          merge (out, s.second);
    }
  return out;
}

void Pointers::store (const Targets &where, const Targets &what)
{
  if (what.empty ())
    return;
  for (const Target &t : where)
    if (is_known_to_others (t.first))
      escape (what);
    else
      add (objects_[t.first].slots[t.second], what);
}

void Pointers::copy (const Targets &to, const Targets &from, HOST_WIDE_INT size)
{
  for (const Target &f : from)
    {
      if (is_known_to_others (f.first))
        store (moved (to, NULL_TREE), { { UNKNOWN, ANYWHERE } });
      std::map<HOST_WIDE_INT, Targets> slots = objects_[f.first].slots;
      for (auto &s : slots)
        if (s.first == ANYWHERE || f.second == ANYWHERE || size == ANYWHERE)
          store (moved (to, NULL_TREE), s.second);
        else if (s.first < f.second + size && f.second < s.first + 8)
          store (moved (to, build_int_cst (ssizetype, s.first - f.second)), s.second);
    }
}

bool Pointers::solve (const std::map<tree, function *> &functions, const std::set<tree> &exposed)
{
  State unknown;
  unknown.is = { NULL_TREE, nullptr, NULL_TREE };
  unknown.escaped = true;
  unknown.slots[ANYWHERE].insert ({ UNKNOWN, ANYWHERE });
  objects_.push_back (unknown);
  exposed_ = exposed;
  for (auto &f : functions)
    if (cgraph_node *n = cgraph_node::get (f.first))
      if (n->get_availability () >= AVAIL_AVAILABLE)
        known_.insert (f.first);
  for (auto &f : functions)
    for (tree p = DECL_ARGUMENTS (f.first); p; p = DECL_CHAIN (p))
      if (exposed.count (f.first) && is_gimple_reg (p))
        if (tree name = ssa_default_def (f.second, p))
          into (name, { { UNKNOWN, ANYWHERE } });
  unsigned rounds = 0;
  do
    {
      changed_ = false;
      for (auto &f : functions)
        {
          basic_block bb;
          if (tree chain = f.second->static_chain_decl)
            if (tree name = is_gimple_reg (chain) ? ssa_default_def (f.second, chain) : NULL_TREE)
              into (name, { { UNKNOWN, ANYWHERE } });
          FOR_EACH_BB_FN (bb, f.second)
          {
            for (gphi_iterator p = gsi_start_phis (bb); !gsi_end_p (p); gsi_next (&p))
              if (!virtual_operand_p (gimple_phi_result (p.phi ())))
                for (unsigned k = 0; k < gimple_phi_num_args (p.phi ()); k++)
                  into (gimple_phi_result (p.phi ()), of (gimple_phi_arg_def (p.phi (), k)));
            for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
              if (!is_gimple_debug (gsi_stmt (i)) && !gimple_clobber_p (gsi_stmt (i)))
                statement (f.first, gsi_stmt (i));
          }
        }
      if (too_much_ || ++rounds > ROUNDS)
        return false;
  } while (changed_);
  return true;
}

void Pointers::accesses (gimple *s, std::set<unsigned> *read, std::set<unsigned> *written)
{
  if (is_gimple_debug (s) || gimple_clobber_p (s))
    return;
  struct Both
  {
    Pointers *me;
    std::set<unsigned> *read, *written;
  } both = { this, read, written };
  walk_stmt_load_store_ops (
      s, &both,
      [] (gimple *, tree, tree ref, void *data) {
        for (const Target &t : ((Both *)data)->me->at (ref))
          ((Both *)data)->read->insert (t.first);
        return false;
      },
      [] (gimple *, tree, tree ref, void *data) {
        for (const Target &t : ((Both *)data)->me->at (ref))
          ((Both *)data)->written->insert (t.first);
        return false;
      });
  if (gimple_code (s) == GIMPLE_ASM && gimple_vuse (s))
    {
      read->insert (UNKNOWN);
      written->insert (UNKNOWN);
    }
  gcall *c = dyn_cast<gcall *> (s);
  tree decl = c ? gimple_call_fndecl (c) : NULL_TREE;
  if (!c || is_allocation (c) || region_of (c) || (decl && is_known (decl)))
    return;
  bool memory
      = decl && gimple_call_builtin_p (c, BUILT_IN_NORMAL)
        && (DECL_FUNCTION_CODE (decl) == BUILT_IN_MEMCPY || DECL_FUNCTION_CODE (decl) == BUILT_IN_MEMMOVE
            || DECL_FUNCTION_CODE (decl) == BUILT_IN_MEMSET);
  if (memory || keeps_nothing (c))
    {
      for (unsigned i = 0; i < gimple_call_num_args (c) && !frees (c) && !is_call_of (c, "__promp_"); i++)
        {
          bool first = i == 0;
          for (const Target &t : of (gimple_call_arg (c, i)))
            {
              if (!memory || first)
                written->insert (t.first);
              if (!memory || !first)
                read->insert (t.first);
            }
        }
      return;
    }
  if (!gimple_vuse (c) || (fndecl_built_in_p (decl ? decl : error_mark_node) && is_of_numbers (c)))
    return;
  read->insert (UNKNOWN);
  written->insert (UNKNOWN);
}

std::set<unsigned> Pointers::reached_from (unsigned object)
{
  std::set<unsigned> seen;
  std::vector<unsigned> todo = { object };
  while (!todo.empty ())
    {
      unsigned o = todo.back ();
      todo.pop_back ();
      if (!seen.insert (o).second)
        continue;
      for (auto &s : objects_[o].slots)
        for (const Target &t : s.second)
          todo.push_back (t.first);
    }
  return seen;
}

std::set<unsigned> Pointers::in_memory () const
{
  std::set<unsigned> all;
  for (auto &o : objects_)
    for (auto &s : o.slots)
      for (const Target &t : s.second)
        all.insert (t.first);
  return all;
}

std::string Pointers::name (unsigned object) const
{
  const Object &o = objects_[object].is;
  if (o.decl)
    return DECL_NAME (o.decl) ? IDENTIFIER_POINTER (DECL_NAME (o.decl)) : "?";
  if (!o.site)
    return "memory of others";
  // The pointer that it was first kept in.
  tree lhs = gimple_call_lhs (o.site);
  tree var = lhs && TREE_CODE (lhs) == SSA_NAME ? SSA_NAME_VAR (lhs) : NULL_TREE;
  for (auto &other : objects_)
    if (!var && other.is.decl && DECL_NAME (other.is.decl)
        && !strstr (IDENTIFIER_POINTER (DECL_NAME (other.is.decl)), ".omp_data"))
      for (auto &s : other.slots)
        if (s.second.size () == 1 && s.second.begin ()->first == object)
          var = other.is.decl;
  return var && DECL_NAME (var) ? IDENTIFIER_POINTER (DECL_NAME (var)) : "a block";
}

} // namespace promp
