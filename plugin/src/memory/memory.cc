// What a statement does to memory that others can see.
//
// Private memory (automatic variables of the function itself) is put back with the stack: it does not
// count. Everything else belongs to an object: a variable, or what an SSA pointer points to. Two objects
// overlap unless GCC's points-to analysis says they do not. Only whole objects are compared, because an
// SSA name stands for another value in every iteration; parts of an object are told apart only where
// offsets are constants from a base that does not change.
//
// The data block of a region (*.omp_data_i) is made by the compiler; no pointer of the program leads into it.

#include "memory/memory.h"
#include "memory/summary.h"
#include "gimple-walk.h"
#include "ssa.h"
#include "tree-ssa-alias.h"
#include "tree-dfa.h"
#include "fold-const.h"
#include "cgraph.h"
#include "print-tree.h"
#include "tree-pretty-print.h"
#include "gimplify.h"

namespace promp {

const unsigned PRIVATE = ~0u;


const char *callee_name (gimple *stmt)
{
  tree decl = is_gimple_call (stmt) ? gimple_call_fndecl (stmt) : NULL_TREE;
  const char *name = decl && DECL_NAME (decl) ? IDENTIFIER_POINTER (DECL_NAME (decl)) : "";
  // They do what these do (taint.h).
  if (starts_with (name, "__promp_shown_"))
    for (const char *n :
         { "omp_get_max_threads", "omp_get_num_procs", "omp_get_num_threads", "omp_get_thread_num" })
      if (!strcmp (name + strlen ("__promp_shown_"), n + strlen ("omp_get_")))
        return n;
  return starts_with (name, "__builtin_") ? name + strlen ("__builtin_") : name;
}

bool is_save_point (gimple *stmt)
{
  const char *name = callee_name (stmt);
  // These are ordinary functions of the runtime: no save point, and not to be executed twice.
  for (const char *n : { "GOMP_alloc", "GOMP_free", "GOMP_warning", "GOMP_error" })
    if (!strcmp (name, n))
      return false;
  // Of the functions that programs call, those of locks.
  for (const char *lock :
       { "set_lock", "unset_lock", "test_lock", "set_nest_lock", "unset_nest_lock", "test_nest_lock" })
    if (starts_with (name, "omp_") && !strncmp (name + 4, lock, strlen (lock)))
      return true;
  return starts_with (name, "GOMP_") || !strcmp (name, "__promp_point");
}

bool begins_region (gimple *stmt)
{
  const char *name = callee_name (stmt);
  return starts_with (name, "GOMP_parallel") || starts_with (name, "GOMP_teams")
         || starts_with (name, "GOMP_target");
}

bool is_outlined (function *fn)
{
  return DECL_NAME (fn->decl) && strstr (IDENTIFIER_POINTER (DECL_NAME (fn->decl)), "._omp_fn.") != nullptr;
}

Memory::Memory (function *fn) : fn_ (fn), omp_data_ (NULL_TREE)
{
  tree parm = DECL_ARGUMENTS (fn->decl);
  if (is_outlined (fn) && parm)
    omp_data_ = ssa_default_def (fn, parm);
  object (NULL_TREE);
}

Memory::~Memory () { free_affine_expand_cache (&expansions_); }

unsigned Memory::object (tree key)
{
  for (unsigned i = 0; i < objects_.size (); i++)
    if (objects_[i] == key)
      return i;
  objects_.push_back (key);
  return objects_.size () - 1;
}

/// On this thread's stack, hence saved and put back with it?
bool Memory::is_private (tree decl) const
{
  return (VAR_P (decl) || TREE_CODE (decl) == PARM_DECL || TREE_CODE (decl) == RESULT_DECL) && !DECL_BY_REFERENCE (decl)
         && auto_var_in_fn_p (decl, fn_->decl);
}

tree step_back (tree t)
{
  if (TREE_CODE (t) == ADDR_EXPR)
    {
      tree b = get_base_address (TREE_OPERAND (t, 0));
      return !b ? NULL_TREE : TREE_CODE (b) == MEM_REF ? TREE_OPERAND (b, 0) : DECL_P (b) ? b : NULL_TREE;
    }
  gassign *a = TREE_CODE (t) == SSA_NAME && !SSA_NAME_IS_DEFAULT_DEF (t) ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t)) : nullptr;
  if (!a || !POINTER_TYPE_P (TREE_TYPE (gimple_assign_rhs1 (a)))
      || (gimple_assign_rhs_code (a) != POINTER_PLUS_EXPR && gimple_assign_rhs_code (a) != ADDR_EXPR
          && !gimple_assign_ssa_name_copy_p (a) && !CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))))
    return NULL_TREE;
  return gimple_assign_rhs1 (a);
}

/// Does the pointer lead to this thread's stack: to a private variable, or to what alloca gave?
bool Memory::is_private_pointer (tree t) const
{
  if (DECL_P (t))
    return false; // its value, not its address
  for (int depth = 0; depth < 64; depth++)
    {
      if (!t || DECL_P (t))
        return t && is_private (t);
      gimple *def = TREE_CODE (t) == SSA_NAME ? SSA_NAME_DEF_STMT (t) : nullptr;
      if (def && (gimple_call_builtin_p (def, BUILT_IN_ALLOCA) || gimple_call_builtin_p (def, BUILT_IN_ALLOCA_WITH_ALIGN)
                  || gimple_call_builtin_p (def, BUILT_IN_ALLOCA_WITH_ALIGN_AND_MAX)))
        return true;
      t = step_back (t);
    }
  return false;
}

/// `argument` is the address of a private descriptor: does every pointer ever put into it lead to this
/// thread's stack?
bool Memory::is_private_behind (tree argument) const
{
  tree d = TREE_CODE (argument) == ADDR_EXPR ? TREE_OPERAND (argument, 0) : NULL_TREE;
  if (!d || !VAR_P (d) || !is_private (d))
    return false;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn_)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        if (is_gimple_debug (s) || gimple_clobber_p (s))
          continue;
        if (gcall *c = dyn_cast<gcall *> (s))
          {
            if (gimple_call_lhs (c) && get_base_address (gimple_call_lhs (c)) == d)
              return false;
            for (unsigned k = 0; k < gimple_call_num_args (c); k++)
              if (tree a = gimple_call_arg (c, k))
                if (TREE_CODE (a) == ADDR_EXPR && get_base_address (TREE_OPERAND (a, 0)) == d)
                  {
                    const Summary *g = summary_of (c);
                    if (!g || g->runtime || !g->effect.empty ())
                      return false;
                    for (int w : g->writes)
                      if (argument_of (c, w) == a)
                        return false;
                  }
            continue;
          }
        gassign *a = dyn_cast<gassign *> (s);
        if (a && get_base_address (gimple_assign_lhs (a)) == d)
          {
            tree r = gimple_assign_rhs1 (a);
            if (!gimple_assign_single_p (a) || (POINTER_TYPE_P (TREE_TYPE (r)) && !is_private_pointer (r))
                || AGGREGATE_TYPE_P (TREE_TYPE (r)))
              return false;
            continue;
          }
        // Its address must not go anywhere else.
        for (unsigned k = 0; k < gimple_num_ops (s); k++)
          if (tree o = gimple_op (s, k))
            if (TREE_CODE (o) == ADDR_EXPR && get_base_address (TREE_OPERAND (o, 0)) == d)
              return false;
        if (gphi *p = dyn_cast<gphi *> (s))
          for (unsigned k = 0; k < gimple_phi_num_args (p); k++)
            if (tree o = gimple_phi_arg_def (p, k))
              if (TREE_CODE (o) == ADDR_EXPR && get_base_address (TREE_OPERAND (o, 0)) == d)
                return false;
      }
  return true;
}

unsigned Memory::place (tree ref)
{
  tree base = get_base_address (ref), behind = NULL_TREE;
  if (!base)
    base = NULL_TREE;
  else if (TREE_CODE (base) == MEM_REF || TREE_CODE (base) == TARGET_MEM_REF)
    {
      behind = base;
      tree p = TREE_OPERAND (base, 0);
      base = TREE_CODE (p) == ADDR_EXPR ? get_base_address (TREE_OPERAND (p, 0)) : p;
    }
  else if (CONSTANT_CLASS_P (base) || TREE_CODE (base) == CONST_DECL)
    return PRIVATE;
  bool known = base && (DECL_P (base) || TREE_CODE (base) == SSA_NAME);
  if (known && TREE_CODE (base) == SSA_NAME && is_private_pointer (base))
    return PRIVATE;
  if (known && DECL_P (base) && is_private (base))
    return PRIVATE;
  if (known && VAR_P (base) && TREE_READONLY (base) && TREE_STATIC (base) && !DECL_THREAD_LOCAL_P (base))
    return PRIVATE; // a constant
  promp_place p = { object (known ? base : NULL_TREE), 0, 0, 0 };
  poly_int64 offset, size, max_size;
  bool reverse;
  if (known && (DECL_P (base) || SSA_NAME_IS_DEFAULT_DEF (base)))
    {
      get_ref_base_and_extent (ref, &offset, &size, &max_size, &reverse);
      HOST_WIDE_INT o, n;
      // The constant in *(pointer + constant) is not part of it.
      if (TREE_CODE (base) == SSA_NAME && behind)
        offset += TREE_CODE (behind) == MEM_REF ? mem_ref_offset (behind).force_shwi () * BITS_PER_UNIT : 0;
      bool simple = TREE_CODE (base) != SSA_NAME || (behind && TREE_CODE (behind) == MEM_REF);
      if (simple && offset.is_constant (&o)
          && size.is_constant (&n) && known_size_p (max_size) && known_eq (size, max_size))
        {
          p.fixed = 1;
          p.offset = o;
          p.length = n; // in bits
        }
    }
  for (unsigned i = 0; i < places_.size (); i++)
    if (places_[i].object == p.object && expressions_[i] && operand_equal_p (expressions_[i], ref, 0))
      return i;
  places_.push_back (p);
  expressions_.push_back (ref);
  return places_.size () - 1;
}

void Memory::add (Deed &deed, gimple *stmt, tree ref, unsigned flags)
{
  unsigned p = place (ref);
  if (p != PRIVATE)
    deed.items.push_back ({ stmt, p, flags });
}

/// Memory somewhere behind a pointer, at `ref` if that is known.
void Memory::add_pointed (Deed &deed, gimple *stmt, tree pointer, unsigned flags, tree ref)
{
  tree base = pointer;
  if (pointer && is_private_pointer (pointer))
    return;
  if (pointer && TREE_CODE (pointer) == ADDR_EXPR)
    {
      base = get_base_address (TREE_OPERAND (pointer, 0));
      if (base && TREE_CODE (base) == MEM_REF)
        base = TREE_OPERAND (base, 0);
      if (base && DECL_P (base) && is_private (base))
        return;
    }
  if (!base || !(DECL_P (base) || TREE_CODE (base) == SSA_NAME))
    base = NULL_TREE;
  places_.push_back ({ object (base), 0, 0, 0 });
  expressions_.push_back (ref);
  deed.items.push_back ({ stmt, (unsigned) places_.size () - 1, flags });
}

bool Memory::behind (const Argument &a, unsigned *place)
{
  Deed deed;
  switch (a.kind)
    {
    case Argument::POINTER:
      add_pointed (deed, nullptr, a.value, 0);
      break;
    case Argument::GLOBAL:
      add_pointed (deed, nullptr, build_fold_addr_expr (a.value), 0);
      break;
    case Argument::ANYTHING:
    case Argument::RESULT: // of a function's call: what is known of it counts for functions
      add_pointed (deed, nullptr, NULL_TREE, 0);
      break;
    default:
      break;
    }
  if (deed.items.empty ())
    return false;
  *place = deed.items[0].place;
  return true;
}

bool Memory::starts_at (unsigned place, tree pointer)
{
  tree ref = expressions_[place];
  if (!ref || TREE_CODE (ref) == TARGET_MEM_REF || TREE_CODE (ref) == BIT_FIELD_REF
      || (TREE_CODE (ref) == COMPONENT_REF && DECL_BIT_FIELD (TREE_OPERAND (ref, 1))))
    return false;
  auto address = addresses_.find (place);
  if (address == addresses_.end ())
    {
      aff_tree a;
      tree at = build_fold_addr_expr (unshare_expr (ref));
      tree_to_aff_combination_expand (at, ptr_type_node, &a, &expansions_);
      address = addresses_.insert ({ place, a }).first;
    }
  aff_tree difference, minus = address->second;
  tree_to_aff_combination_expand (pointer, ptr_type_node, &difference, &expansions_);
  aff_combination_scale (&minus, -1);
  aff_combination_add (&difference, &minus);
  return aff_combination_zero_p (&difference);
}

static bool load (gimple *, tree, tree ref, void *data)
{
  ((std::vector<tree> *) data)->push_back (ref);
  return false;
}

Memory::Deed Memory::look (gimple *stmt)
{
  Deed deed;
  if (is_gimple_debug (stmt) || gimple_clobber_p (stmt) || gimple_code (stmt) == GIMPLE_LABEL
      || gimple_code (stmt) == GIMPLE_PREDICT || gimple_code (stmt) == GIMPLE_NOP)
    return deed;
  if (gimple_code (stmt) == GIMPLE_ASM)
    {
      deed.effect = "inline assembly";
      return deed;
    }
  if (gimple_has_volatile_ops (stmt))
    {
      deed.effect = "a volatile access";
      return deed;
    }
  std::vector<tree> loads, stores;
  walk_stmt_load_store_ops (stmt, &loads, load, nullptr);
  walk_stmt_load_store_ops (stmt, &stores, nullptr, load);
  for (tree r : loads)
    add (deed, stmt, r, 0);
  if (gcall *c = dyn_cast<gcall *> (stmt))
    call (deed, c);
  for (tree r : stores)
    add (deed, stmt, r, ACCESS_WRITES | ACCESS_WHOLE);
  return deed;
}

std::string Memory::name (unsigned o) const
{
  tree t = objects_[o];
  if (!t)
    return "memory";
  if (TREE_CODE (t) == SSA_NAME && !SSA_NAME_VAR (t))
    {
      // A pointer taken from the region's data block, or a step behind one that has a name.
      for (int depth = 0; depth < 16 && TREE_CODE (t) == SSA_NAME && !SSA_NAME_VAR (t); depth++)
        {
          gassign *def = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t));
          if (!def)
            break;
          t = gimple_assign_rhs1 (def);
        }
      if (TREE_CODE (t) == COMPONENT_REF)
        t = TREE_OPERAND (t, 1);
    }
  if (TREE_CODE (t) == SSA_NAME)
    t = SSA_NAME_VAR (t) ? SSA_NAME_VAR (t) : t;
  if (DECL_P (t) && DECL_NAME (t))
    return IDENTIFIER_POINTER (DECL_NAME (t));
  return "memory";
}

} // namespace promp
