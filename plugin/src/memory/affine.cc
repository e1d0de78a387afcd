// Exact numbers of iterations and affine functions of them, from GCC's scalar evolution.

#include "memory/affine.h"
#include "memory/summary.h"
#include "ssa.h"
#include "cfgloop.h"
#include "tree-eh.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-niter.h"
#include "tree-scalar-evolution.h"
#include "tree-data-ref.h"
#include "tree-ssa-loop-ivopts.h"
#include <algorithm>

namespace promp {

tree repetitions (class loop *l, edge exit, bool every_iteration)
{
  tree_niter_desc d;
  if (!number_of_iterations_exit_assumptions (l, exit, &d, nullptr, every_iteration) || !d.niter
      || TREE_CODE (d.niter) == SCEV_NOT_KNOWN || chrec_contains_undetermined (d.niter))
    return NULL_TREE;
  tree n = fold_convert (sizetype, d.niter);
  if (!integer_zerop (d.may_be_zero))
    n = fold_build3 (COND_EXPR, sizetype, d.may_be_zero, size_zero_node, n);
  if (!integer_nonzerop (d.assumptions))
    n = fold_build3 (COND_EXPR, sizetype, d.assumptions, n, build_int_cst (sizetype, HOST_WIDE_INT_1 << 62));
  return n;
}

tree executions (class loop *l, basic_block bb)
{
  edge exit = single_exit (l);
  if (!exit || !dominated_by_p (CDI_DOMINATORS, l->latch, bb))
    return NULL_TREE;
  // Without its assumption the number is one that no log can hold: the runtime refuses.
  tree n = repetitions (l, exit, false);
  if (n && dominated_by_p (CDI_DOMINATORS, exit->src, bb))
    n = fold_build2 (PLUS_EXPR, sizetype, n, size_one_node);
  return n;
}

bool leaves_early (class loop *l)
{
  basic_block *body = get_loop_body (l);
  bool found = false;
  for (unsigned i = 0; i < l->num_nodes && !found; i++)
    for (gimple_stmt_iterator g = gsi_start_bb (body[i]); !gsi_end_p (g) && !found; gsi_next (&g))
      {
        gimple *s = gsi_stmt (g);
        gcall *c = dyn_cast<gcall *> (s);
        bool harmless = !c || !gimple_vdef (s) || gimple_call_builtin_p (s, BUILT_IN_NORMAL) || gimple_call_internal_p (s)
                        || (gimple_call_flags (s) & ECF_NORETURN) || summary_of (c);
        found = stmt_could_throw_p (cfun, s) || !harmless;
      }
  free (body);
  return found;
}

/// `affine` of a conversion.
static bool affine_converted (class loop *l, tree expr, tree *first, tree *step)
{
  tree a, b;
  // A narrower variable that wraps would not be affine in the wider type: only where it cannot wrap.
  tree v = TREE_OPERAND (expr, 0);
  if (!INTEGRAL_TYPE_P (TREE_TYPE (v)) || !INTEGRAL_TYPE_P (TREE_TYPE (expr)))
    return false;
  bool same = TYPE_PRECISION (TREE_TYPE (v)) >= TYPE_PRECISION (TREE_TYPE (expr));
  if (TREE_CODE (v) == SSA_NAME)
    {
      affine_iv iv;
      if (!simple_iv (l, l, v, &iv, true) || (!same && !iv.no_overflow))
        return false;
      *first = fold_convert (TREE_TYPE (expr), iv.base);
      *step = fold_convert (sizetype, fold_convert (ssizetype, iv.step));
      return true;
    }
  if (!same && !TYPE_OVERFLOW_UNDEFINED (TREE_TYPE (v)))
    return false;
  if (!affine (l, v, &a, &b))
    return false;
  *first = fold_convert (TREE_TYPE (expr), fold_convert (TREE_TYPE (v), a));
  *step = b;
  return true;
}

bool affine (class loop *l, tree expr, tree *first, tree *step)
{
  STRIP_NOPS (expr);
  if (expr_invariant_in_loop_p (l, expr))
    {
      *first = expr;
      *step = size_zero_node;
      return true;
    }
  if (TREE_CODE (expr) == SSA_NAME)
    {
      affine_iv iv;
      if (!simple_iv (l, l, expr, &iv, true))
        return false;
      *first = iv.base;
      *step = iv.step;
      return true;
    }
  tree a, b, c, d;
  switch (TREE_CODE (expr))
    {
    case POINTER_PLUS_EXPR:
    case PLUS_EXPR:
    case MINUS_EXPR:
      if (!affine (l, TREE_OPERAND (expr, 0), &a, &b) || !affine (l, TREE_OPERAND (expr, 1), &c, &d))
        return false;
      *first = fold_build2 (TREE_CODE (expr), TREE_TYPE (expr), fold_convert (TREE_TYPE (TREE_OPERAND (expr, 0)), a),
                            fold_convert (TREE_TYPE (TREE_OPERAND (expr, 1)), c));
      *step = fold_build2 (TREE_CODE (expr) == MINUS_EXPR ? MINUS_EXPR : PLUS_EXPR, sizetype, fold_convert (sizetype, b),
                           fold_convert (sizetype, d));
      return true;
    case MULT_EXPR:
      {
        tree f = TREE_OPERAND (expr, 1), v = TREE_OPERAND (expr, 0);
        if (!expr_invariant_in_loop_p (l, f))
          std::swap (f, v);
        if (!expr_invariant_in_loop_p (l, f) || !affine (l, v, &a, &b))
          return false;
        *first = fold_build2 (MULT_EXPR, TREE_TYPE (expr), fold_convert (TREE_TYPE (expr), a), fold_convert (TREE_TYPE (expr), f));
        *step = fold_build2 (MULT_EXPR, sizetype, fold_convert (sizetype, b), fold_convert (sizetype, f));
        return true;
      }
    CASE_CONVERT:
      return affine_converted (l, expr, first, step);
    default:
      return false;
    }
}

} // namespace promp
