// May two accesses touch the same memory? By points-to analysis, by restrict, by what all callers pass.

#include "memory/memory.h"
#include "memory/summary.h"
#include "ssa.h"
#include "tree-phinodes.h"
#include "ssa-iterators.h"
#include "alias.h"
#include "tree-ssa-alias.h"
#include "fold-const.h"
#include "cgraph.h"
#include "tree-dfa.h"
#include <set>

namespace promp {

/// Where the pointer comes from: a parameter, a variable, or what an allocation gave; NULL_TREE if it is not known. `loaded`, if given, becomes
/// true if it comes from memory.
tree Memory::root (tree t, bool *loaded) const
{
  for (int depth = 0; depth < 64; depth++)
    {
      if (!t || DECL_P (t))
        return t;
      if (TREE_CODE (t) == SSA_NAME)
        {
          if (SSA_NAME_IS_DEFAULT_DEF (t))
            return SSA_NAME_VAR (t) && TREE_CODE (SSA_NAME_VAR (t)) == PARM_DECL ? SSA_NAME_VAR (t) : NULL_TREE;
          gimple *def = SSA_NAME_DEF_STMT (t);
          if (gimple_call_builtin_p (def, BUILT_IN_MALLOC) || gimple_call_builtin_p (def, BUILT_IN_CALLOC))
            return t;
          if (loaded && gimple_assign_load_p (def))
            *loaded = true;
        }
      t = step_back (t);
    }
  return NULL_TREE;
}

/// Is the pointer, or one that is computed from it, used in this function for accesses and nothing else: not stored, not given to other
/// functions?
static bool is_kept (tree p, std::set<tree> &seen)
{
  if (!seen.insert (p).second)
    return true;
  imm_use_iterator it;
  use_operand_p use;
  FOR_EACH_IMM_USE_FAST (use, it, p)
    {
      gimple *s = USE_STMT (use);
      tree next = NULL_TREE;
      if (is_gimple_debug (s) || gimple_code (s) == GIMPLE_COND)
        continue;
      if (gassign *a = dyn_cast<gassign *> (s))
        {
          tree lhs = gimple_assign_lhs (a), value = gimple_assign_rhs1 (a);
          if (TREE_CODE_CLASS (gimple_assign_rhs_code (a)) == tcc_comparison || gimple_assign_load_p (a))
            {
              // What is loaded through it is another pointer; a copy of memory to memory is an access, too.
              continue;
            }
          if (TREE_CODE (lhs) != SSA_NAME)
            {
              if (value == p || TREE_CODE (value) == ADDR_EXPR)
                return false;
              continue;
            }
          next = lhs;
        }
      else if (gphi *phi = dyn_cast<gphi *> (s))
        next = gimple_phi_result (phi);
      else if (gimple_call_builtin_p (s, BUILT_IN_MEMCPY) || gimple_call_builtin_p (s, BUILT_IN_MEMMOVE)
               || gimple_call_builtin_p (s, BUILT_IN_MEMSET))
        next = gimple_call_lhs (s);
      else
        return false;
      if (next && (!POINTER_TYPE_P (TREE_TYPE (next)) || !is_kept (next, seen)))
        return false;
    }
  return true;
}

/// What is behind a restrict parameter that stays in this function is not reached by accesses of which nothing is known (through pointers
/// that were loaded, in functions that are called): those are not based on it.
bool Memory::is_reached_by_itself_only (tree parameter) const
{
  if (!parameter || TREE_CODE (parameter) != PARM_DECL || !TYPE_RESTRICT (TREE_TYPE (parameter)))
    return false;
  auto known = kept_.find (parameter);
  if (known != kept_.end ())
    return known->second;
  std::set<tree> seen;
  tree p = ssa_default_def (fn_, parameter);
  return kept_[parameter] = p && is_kept (p, seen);
}

/// Do pointers from these roots lead to different objects?
///
/// By restrict (Fortran's dummy arguments have it): what is modified through one parameter is not reached by another way while the
/// function runs; one of the two accesses that are compared is always a write. Or because they are at every call.
bool Memory::roots_apart (tree x, tree y) const
{
  if (!x || !y || x == y)
    return false;
  auto restricted = [] (tree t) { return TREE_CODE (t) == PARM_DECL && TYPE_RESTRICT (TREE_TYPE (t)); };
  if (restricted (x) || restricted (y))
    return true;
  if (TREE_CODE (x) != PARM_DECL || TREE_CODE (y) != PARM_DECL)
    return false;
  auto number = [&] (tree t) {
    unsigned k = 0;
    for (tree p = DECL_ARGUMENTS (fn_->decl); p && p != t; p = DECL_CHAIN (p))
      k++;
    return k;
  };
  return parameters_apart (fn_, number (x), number (y));
}

bool Memory::may_overlap (unsigned a, unsigned b) const
{
  auto known = overlaps_.find ({ a, b });
  if (known == overlaps_.end ())
    known = overlaps_.insert ({ { a, b }, find_overlap (a, b) }).first;
  return known->second;
}

bool Memory::find_overlap (unsigned a, unsigned b) const
{
  tree x = objects_[a], y = objects_[b];
  if (!x != !y)
    return !is_reached_by_itself_only (root (x ? x : y));
  if (x == y)
    return true;
  if (x == omp_data_ || y == omp_data_)
    return false;
  bool x_loaded = false, y_loaded = false;
  tree from_x = root (x, &x_loaded), from_y = root (y, &y_loaded);
  if (roots_apart (from_x, from_y) || (x_loaded && is_reached_by_itself_only (from_y))
      || (y_loaded && is_reached_by_itself_only (from_x)))
    return false;
  if (TREE_CODE (x) == CONST_DECL || TREE_CODE (y) == CONST_DECL)
    return false; // nobody writes it
  if (DECL_P (x) && DECL_P (y))
    {
      if (!VAR_P (x) || !VAR_P (y))
        return true;
      // Two names of one variable: by alias attributes.
      symtab_node *m = symtab_node::get (x), *n = symtab_node::get (y);
      return m && n && m->equal_address_to (n) != 0;
    }
  if (DECL_P (x))
    std::swap (x, y);
  if (DECL_P (y))
    {
      ao_ref r, s;
      ao_ref_init_from_ptr_and_size (&r, x, NULL_TREE);
      ao_ref_init (&s, y);
      return refs_may_alias_p_1 (&r, &s, false);
    }
  return ptr_derefs_may_alias_p (x, y);
}

} // namespace promp
