// Where a pointer of a function comes from: a parameter, memory of the function's own, a call.

#include "memory/pointer_origin.h"
#include "memory/heap.h"
#include "memory/summary.h"
#include "ssa.h"
#include "tree-dfa.h"
#include <algorithm>
#include <set>

namespace promp {
namespace {

/// Does it call a function of this unit that returns a block which it has allocated?
bool makes_block (gimple *stmt)
{
  gcall *c = dyn_cast<gcall *> (stmt);
  const Summary *s = c ? summary_of (c) : nullptr;
  return s && s->makes && !s->runtime
         && std::none_of (s->foreign.begin (), s->foreign.end (), [] (const Foreign &f) { return f.result; });
}

/// The parameter that `t`, a pointer, comes from; or NO_PARAMETER, OWN_MEMORY (of the function),
/// ONLY_ITSELF (the next value of a pointer that is being looked at: `phis`).
int origin (function *fn, tree t, std::set<gphi *> &phis, unsigned &budget)
{
  while (budget-- > 0)
    {
      if (TREE_CODE (t) == ADDR_EXPR)
        {
          tree b = get_base_address (TREE_OPERAND (t, 0));
          if (b && DECL_P (b))
            return auto_var_in_fn_p (b, fn->decl) && !DECL_BY_REFERENCE (b) ? OWN_MEMORY : NO_PARAMETER;
          if (!b || TREE_CODE (b) != MEM_REF)
            return NO_PARAMETER;
          t = TREE_OPERAND (b, 0);
          continue;
        }
      if (TREE_CODE (t) != SSA_NAME)
        return NO_PARAMETER;
      if (SSA_NAME_IS_DEFAULT_DEF (t))
        return number_of_parameter (fn, t);
      gimple *def = SSA_NAME_DEF_STMT (t);
      // Executed again, it has another block.
      if (allocates (def) || makes_block (def))
        return OWN_MEMORY;
      if (gphi *phi = dyn_cast<gphi *> (def))
        {
          if (!phis.insert (phi).second)
            return ONLY_ITSELF;
          int r = ONLY_ITSELF;
          for (unsigned i = 0; i < gimple_phi_num_args (phi); i++)
            {
              int k = origin (fn, gimple_phi_arg_def (phi, i), phis, budget);
              if (k == ONLY_ITSELF)
                continue;
              r = r == ONLY_ITSELF || r == k ? k : NO_PARAMETER;
            }
          phis.erase (phi);
          return r;
        }
      gassign *a = dyn_cast<gassign *> (def);
      if (a && gimple_assign_load_p (a))
        {
          tree b = get_base_address (gimple_assign_rhs1 (a));
          int k = NO_PARAMETER;
          if (b && TREE_CODE (b) == MEM_REF)
            k = origin (fn, TREE_OPERAND (b, 0), phis, budget);
          return k >= 0 && k < BEHIND ? k + BEHIND : NO_PARAMETER;
        }
      if (!a || (gimple_assign_rhs_code (a) != POINTER_PLUS_EXPR && gimple_assign_rhs_code (a) != ADDR_EXPR
                 && !gimple_assign_ssa_name_copy_p (a) && !CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))))
        return NO_PARAMETER;
      t = gimple_assign_rhs1 (a);
    }
  return budget = 0, NO_PARAMETER;
}

} // namespace

gcall *result_of (tree t)
{
  for (int steps = 0; steps < 100; steps++)
    {
      if (TREE_CODE (t) == ADDR_EXPR)
        {
          tree b = get_base_address (TREE_OPERAND (t, 0));
          if (!b || TREE_CODE (b) != MEM_REF)
            return nullptr;
          t = TREE_OPERAND (b, 0);
        }
      if (TREE_CODE (t) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF (t) || !POINTER_TYPE_P (TREE_TYPE (t)))
        return nullptr;
      gimple *def = SSA_NAME_DEF_STMT (t);
      if (gcall *c = dyn_cast<gcall *> (def))
        return c;
      gassign *a = dyn_cast<gassign *> (def);
      if (!a || (gimple_assign_rhs_code (a) != POINTER_PLUS_EXPR && gimple_assign_rhs_code (a) != ADDR_EXPR
                 && !gimple_assign_ssa_name_copy_p (a) && !CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))))
        return nullptr;
      t = gimple_assign_rhs1 (a);
    }
  return nullptr;
}

int parameter_of (function *fn, tree t)
{
  std::set<gphi *> phis;
  unsigned budget = 1000;
  int k = origin (fn, t, phis, budget);
  return k == ONLY_ITSELF ? NO_PARAMETER : k;
}

tree object_pointer (const Memory &m, unsigned object)
{
  tree t = m.key (object);
  return t && DECL_P (t) ? NULL_TREE : t;
}

} // namespace promp
