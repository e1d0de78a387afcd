// A function's accesses in terms of its parameters, so that a caller's loop knows where a call in it reads. The bodies of the functions are
// gone by then.

#include "memory/outside.h"
#include "memory/extent.h"
#include "memory/summary.h"
#include "gimplify.h"
#include <algorithm>
#include <functional>

namespace promp {

static std::vector<tree> kept;

/// `expr` with every variable replaced by what `leaf` gives; NULL_TREE if that is nothing, or for operations other than arithmetic.
static tree rebuild (tree expr, const std::function<tree (tree)> &leaf, unsigned &budget)
{
  if (budget-- == 0)
    return budget = 0, NULL_TREE;
  if (is_gimple_min_invariant (expr))
    return expr;
  if (TREE_CODE (expr) == SSA_NAME || TREE_CODE (expr) == PARM_DECL)
    return leaf (expr);
  tree type = TREE_TYPE (expr);
  switch (TREE_CODE (expr))
    {
    CASE_CONVERT:
    case NON_LVALUE_EXPR:
      {
        tree x = rebuild (TREE_OPERAND (expr, 0), leaf, budget);
        return x ? fold_convert (type, x) : NULL_TREE;
      }
    case PLUS_EXPR:
    case MINUS_EXPR:
    case MULT_EXPR:
    case POINTER_PLUS_EXPR:
    case LSHIFT_EXPR:
    case RSHIFT_EXPR:
    case TRUNC_DIV_EXPR:
    case BIT_AND_EXPR:
      {
        tree x = rebuild (TREE_OPERAND (expr, 0), leaf, budget), y = x ? rebuild (TREE_OPERAND (expr, 1), leaf, budget) : NULL_TREE;
        return y ? fold_build2 (TREE_CODE (expr), type, x, y) : NULL_TREE;
      }
    default:
      return NULL_TREE;
    }
}

/// What an SSA name is computed from, as an expression; NULL_TREE: something else than arithmetic.
static tree definition (tree name)
{
  gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (name));
  if (!a || gimple_assign_load_p (a))
    return NULL_TREE;
  tree type = TREE_TYPE (name);
  switch (gimple_assign_rhs_class (a))
    {
    case GIMPLE_SINGLE_RHS:
      return gimple_assign_rhs1 (a);
    case GIMPLE_UNARY_RHS:
      return CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a)) ? build1 (gimple_assign_rhs_code (a), type, gimple_assign_rhs1 (a)) : NULL_TREE;
    case GIMPLE_BINARY_RHS:
      return build2 (gimple_assign_rhs_code (a), type, gimple_assign_rhs1 (a), gimple_assign_rhs2 (a));
    default:
      return NULL_TREE;
    }
}

tree in_parameters (function *fn, tree ref)
{
  tree size, at = ref ? address (unshare_expr (ref), &size) : NULL_TREE;
  unsigned budget = 500;
  std::function<tree (tree)> leaf = [&] (tree t) -> tree {
    if (TREE_CODE (t) == PARM_DECL)
      return NULL_TREE; // its address is taken
    if (!SSA_NAME_IS_DEFAULT_DEF (t))
      {
        tree d = definition (t);
        return d ? rebuild (d, leaf, budget) : NULL_TREE;
      }
    tree p = SSA_NAME_VAR (t);
    return p && TREE_CODE (p) == PARM_DECL && DECL_CONTEXT (p) == fn->decl ? p : NULL_TREE;
  };
  at = at ? rebuild (at, leaf, budget) : NULL_TREE;
  if (!at)
    return NULL_TREE;
  kept.push_back (build2 (MEM_REF, TREE_TYPE (ref), at, build_int_cst (ptr_type_node, 0)));
  return kept.back ();
}

tree in_arguments (const std::vector<tree> &parameters, tree ref, gcall *call)
{
  unsigned budget = 1000;
  std::function<tree (tree)> leaf = [&] (tree t) -> tree {
    auto p = std::find (parameters.begin (), parameters.end (), t);
    tree a = p != parameters.end () ? argument_of (call, p - parameters.begin ()) : NULL_TREE;
    return a && useless_type_conversion_p (TREE_TYPE (t), TREE_TYPE (a)) ? fold_convert (TREE_TYPE (t), a) : NULL_TREE;
  };
  tree at = rebuild (TREE_OPERAND (ref, 0), leaf, budget);
  return at ? build2 (MEM_REF, TREE_TYPE (ref), at, TREE_OPERAND (ref, 1)) : NULL_TREE;
}

void keep (tree t)
{
  if (t)
    kept.push_back (t);
}

void keep_references ()
{
  for (tree t : kept)
    gt_ggc_mx_tree_node (t);
}

} // namespace promp
