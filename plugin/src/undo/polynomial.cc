// Addresses as polynomials: those of an expression, and back.

#include "undo/polynomial.h"
#include "tree-pass.h"
#include "ssa.h"
#include "fold-const.h"
#include "gimplify.h"
#include <algorithm>

namespace promp {
namespace {

const size_t TOO_MANY_TERMS = 24;

bool is_wide (tree type)
{
  return (INTEGRAL_TYPE_P (type) || POINTER_TYPE_P (type))
         && TYPE_PRECISION (type) == TYPE_PRECISION (sizetype);
}

/// Does arithmetic in this type give the same modulo the width of addresses?
bool is_exact (tree type)
{
  return is_wide (type)
         || (INTEGRAL_TYPE_P (type) && !TYPE_UNSIGNED (type) && TYPE_OVERFLOW_UNDEFINED (type));
}

} // namespace

void add (Polynomial &to, const Polynomial &p, uint64_t factor)
{
  for (auto &t : p)
    if ((to[t.first] += factor * t.second) == 0)
      to.erase (t.first);
}

Polynomial difference (const Polynomial &a, const Polynomial &b)
{
  Polynomial r = a;
  add (r, b, -uint64_t (1));
  return r;
}

bool Algebra::of (tree expr, Polynomial *out)
{
  budget_ = 200;
  return find (expr, out);
}

tree Algebra::expression (const Polynomial &p) const
{
  tree all = size_zero_node;
  for (auto &t : p)
    {
      tree product = build_int_cst (sizetype, t.second);
      for (unsigned v : t.first)
        product = fold_build2 (MULT_EXPR, sizetype, product,
                               fold_convert (sizetype, unshare_expr (values_[v])));
      all = fold_build2 (PLUS_EXPR, sizetype, all, product);
    }
  return all;
}

bool Algebra::value (tree v, Polynomial *out)
{
  if (TREE_CODE (v) == SSA_NAME && SSA_NAME_OCCURS_IN_ABNORMAL_PHI (v))
    return false;
  unsigned n = 0;
  while (n < values_.size () && !operand_equal_p (values_[n], v, 0))
    n++;
  if (n == values_.size ())
    values_.push_back (v);
  *out = { { { n }, 1 } };
  return true;
}

bool Algebra::constant (tree t, Polynomial *out)
{
  *out = {};
  if (uint64_t n = TREE_INT_CST_LOW (t))
    out->insert ({ {}, n });
  return TREE_INT_CST_NUNITS (t) == 1 || is_wide (TREE_TYPE (t));
}

bool Algebra::sum (tree a, tree b, uint64_t factor, Polynomial *out)
{
  Polynomial y;
  if (!find (a, out) || !find (b, &y))
    return false;
  add (*out, y, factor);
  return out->size () <= TOO_MANY_TERMS;
}

bool Algebra::product (tree a, tree b, Polynomial *out)
{
  Polynomial x, y;
  if (!find (a, &x) || !find (b, &y) || x.size () * y.size () > TOO_MANY_TERMS)
    return false;
  *out = {};
  for (auto &i : x)
    for (auto &j : y)
      {
        std::vector<unsigned> both = i.first;
        both.insert (both.end (), j.first.begin (), j.first.end ());
        std::sort (both.begin (), both.end ());
        add (*out, { { both, j.second } }, i.second);
      }
  return true;
}

bool Algebra::times (tree a, uint64_t factor, Polynomial *out)
{
  Polynomial x;
  if (!find (a, &x))
    return false;
  *out = {};
  add (*out, x, factor);
  return true;
}

/// `t`, which is `a` in another type.
bool Algebra::converted (tree a, tree t, Polynomial *out)
{
  tree from = TREE_TYPE (a), to = TREE_TYPE (t);
  bool wider = INTEGRAL_TYPE_P (from) && TYPE_PRECISION (from) < TYPE_PRECISION (to);
  if (!is_wide (to) || !(is_wide (from) || wider))
    return value (t, out);
  // Of what may wrap in the narrow type the value as a whole.
  return is_exact (from) || TREE_CODE (a) == INTEGER_CST ? find (a, out) : value (a, out);
}

/// `t`, which is computed from `a` and `b`.
bool Algebra::computed (tree t, enum tree_code code, tree a, tree b, Polynomial *out)
{
  bool exact = is_exact (TREE_TYPE (t));
  switch (code)
    {
    case PLUS_EXPR:
    case POINTER_PLUS_EXPR:
    case MINUS_EXPR:
      return exact ? sum (a, b, code == MINUS_EXPR ? -uint64_t (1) : 1, out) : value (t, out);
    case MULT_EXPR:
      return exact ? product (a, b, out) : value (t, out);
    case NEGATE_EXPR:
      return exact ? times (a, -uint64_t (1), out) : value (t, out);
    case LSHIFT_EXPR:
      if (!is_wide (TREE_TYPE (t)) || !tree_fits_uhwi_p (b) || tree_to_uhwi (b) > 31)
        return value (t, out);
      return times (a, uint64_t (1) << tree_to_uhwi (b), out);
    case SSA_NAME:
      return find (a, out);
    CASE_CONVERT:
      return converted (a, t, out);
    default:
      return value (t, out);
    }
}

bool Algebra::find (tree t, Polynomial *out)
{
  if (!budget_ || !--budget_)
    return false;
  if (TREE_CODE (t) == INTEGER_CST)
    return constant (t, out);
  gassign *def = TREE_CODE (t) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t)) : nullptr;
  if (TREE_CODE (t) == SSA_NAME ? !def || gimple_assign_load_p (def) : !EXPR_P (t))
    return value (t, out);
  enum tree_code code = def ? gimple_assign_rhs_code (def) : TREE_CODE (t);
  tree a = def ? gimple_assign_rhs1 (def) : TREE_OPERAND (t, 0);
  tree b = def ? gimple_assign_rhs2 (def) : TREE_OPERAND_LENGTH (t) > 1 ? TREE_OPERAND (t, 1) : NULL_TREE;
  return computed (t, code, a, b, out);
}

} // namespace promp
