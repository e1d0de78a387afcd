// Where an access can be while a loop is executed: the range of its address, by interval arithmetic over the loops within.

#include "memory/extent.h"
#include "memory/affine.h"
#include "cfgloop.h"
#include "tree-ssa-loop.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-loop-ivopts.h"
#include "gimplify.h"
#include "gimplify-me.h"

namespace promp {

tree address (tree ref, tree *size)
{
  poly_int64 bits, pos;
  tree offset;
  machine_mode mode;
  int unsignedp, reversep, volatilep;
  tree base = get_inner_reference (ref, &bits, &pos, &offset, &mode, &unsignedp, &reversep, &volatilep);
  HOST_WIDE_INT b, p;
  if (!bits.is_constant (&b) || !pos.is_constant (&p) || b % 8 || p % 8 || b <= 0)
    return NULL_TREE;
  *size = size_int (b / 8);
  tree start;
  if (TREE_CODE (base) == MEM_REF)
    start = fold_build_pointer_plus (TREE_OPERAND (base, 0), fold_convert (sizetype, TREE_OPERAND (base, 1)));
  else if (DECL_P (base))
    start = build_fold_addr_expr (base);
  else
    return NULL_TREE;
  if (offset)
    start = fold_build_pointer_plus (start, fold_convert (sizetype, offset));
  return fold_build_pointer_plus (start, size_int (p / 8));
}

static tree constant (HOST_WIDE_INT x)
{
  REAL_VALUE_TYPE r;
  real_from_integer (&r, DFmode, x, SIGNED);
  return build_real (double_type_node, r);
}

/// Does arithmetic in this type give the values themselves, modulo the width of addresses?
static bool is_exact (tree type)
{
  return POINTER_TYPE_P (type) || TYPE_PRECISION (type) == TYPE_PRECISION (sizetype) || TYPE_OVERFLOW_UNDEFINED (type);
}

tree Extents::emit (tree expr)
{
  gimple_seq s = nullptr;
  tree value = force_gimple_operand (unshare_expr (expr), &s, true, NULL_TREE);
  gimple_seq_add_seq (seq_, s);
  return value;
}

/// The value, in the width of addresses.
tree Extents::wide (tree expr)
{
  tree type = TREE_TYPE (expr);
  if (INTEGRAL_TYPE_P (type) && !TYPE_UNSIGNED (type))
    expr = fold_convert (ssizetype, expr);
  return emit (fold_convert (sizetype, expr));
}

tree Extents::sum (tree a, tree b)
{
  return real_zerop (a) ? b : real_zerop (b) ? a : emit (fold_build2 (PLUS_EXPR, TREE_TYPE (a), a, b));
}

tree Extents::product (tree a, tree b)
{
  return real_zerop (a) ? a : emit (fold_build2 (MULT_EXPR, TREE_TYPE (a), a, b));
}

tree Extents::number (tree integer) { return emit (fold_build1 (FLOAT_EXPR, double_type_node, emit (integer))); }

/// The distances when the value is multiplied by `factor`, which is signed.
void Extents::scale (Range *r, tree factor)
{
  r->small = false;
  tree f = number (fold_convert (ssizetype, factor)), down = product (r->down, f), up = product (r->up, f);
  auto larger = [&] (tree x, tree y) {
    return emit (fold_build2 (MAX_EXPR, double_type_node, x, emit (fold_build1 (NEGATE_EXPR, double_type_node, y))));
  };
  r->down = larger (down, up);
  r->up = larger (up, down);
}

/// `expr` as it can be computed in front of the loop, if it has the same value whenever it is computed within; else NULL_TREE.
tree Extents::fixed (tree expr)
{
  struct Walk
  {
    class loop *around;
    bool failed;
  } walk = { around_, false };
  auto replace = [] (tree *t, int *, void *data) -> tree {
    Walk *w = (Walk *) data;
    if (TREE_CODE (*t) != SSA_NAME || expr_invariant_in_loop_p (w->around, *t))
      return NULL_TREE;
    affine_iv iv;
    w->failed = !simple_iv (w->around, gimple_bb (SSA_NAME_DEF_STMT (*t))->loop_father, *t, &iv, true) || !integer_zerop (iv.step);
    if (!w->failed)
      *t = fold_convert (TREE_TYPE (*t), unshare_expr (iv.base));
    return w->failed ? *t : NULL_TREE;
  };
  expr = unshare_expr (expr);
  walk_tree (&expr, replace, &walk, nullptr);
  return !walk.failed && (is_gimple_min_invariant (expr) || expr_invariant_in_loop_p (around_, expr)) ? expr : NULL_TREE;
}

bool Extents::range (tree expr, Range *r)
{
  const unsigned too_many = 500;
  if (++steps_ > too_many)
    return false;
  tree type = TREE_TYPE (expr);
  if ((!INTEGRAL_TYPE_P (type) && !POINTER_TYPE_P (type)) || TYPE_PRECISION (type) > TYPE_PRECISION (sizetype))
    return false;
  if (tree same = fixed (expr))
    {
      *r = { wide (same), constant (0), constant (0), TYPE_PRECISION (type) <= 32 };
      return true;
    }
  if (TREE_CODE (expr) != SSA_NAME)
    return EXPR_P (expr)
           && operation (TREE_CODE (expr), type, TREE_OPERAND (expr, 0), TREE_OPERAND_LENGTH (expr) > 1 ? TREE_OPERAND (expr, 1) : NULL_TREE,
                         r);
  gimple *def = SSA_NAME_DEF_STMT (expr);
  if (gassign *a = dyn_cast<gassign *> (def))
    return gimple_num_ops (a) <= 3 && operation (gimple_assign_rhs_code (a), type, gimple_assign_rhs1 (a), gimple_assign_rhs2 (a), r);
  return gimple_code (def) == GIMPLE_PHI && induction (expr, r);
}

bool Extents::operation (enum tree_code code, tree type, tree x, tree y, Range *r)
{
  Range a, b;
  switch (code)
    {
    case POINTER_PLUS_EXPR:
    case PLUS_EXPR:
      if (!is_exact (type) || !range (x, &a) || !range (y, &b))
        return false;
      *r = { sum (a.first, b.first), sum (a.down, b.down), sum (a.up, b.up), a.small && b.small };
      return true;
    case MINUS_EXPR:
      if (!is_exact (type) || !range (x, &a) || !range (y, &b))
        return false;
      *r = { emit (fold_build2 (MINUS_EXPR, sizetype, a.first, b.first)), sum (a.down, b.up), sum (a.up, b.down), a.small && b.small };
      return true;
    case MULT_EXPR:
    case LSHIFT_EXPR:
      if (code == LSHIFT_EXPR)
        {
          // GCC lets narrow values wrap here, signed ones, too.
          if (TYPE_PRECISION (type) != TYPE_PRECISION (sizetype) || !tree_fits_uhwi_p (y) || tree_to_uhwi (y) > 31)
            return false;
          y = build_int_cst (sizetype, HOST_WIDE_INT_1 << tree_to_uhwi (y));
        }
      else if (!fixed (y))
        std::swap (x, y);
      y = fixed (y);
      if (!is_exact (type) || !y || !range (x, r))
        return false;
      y = wide (y);
      r->first = product (r->first, y);
      scale (r, y);
      return true;
    case TRUNC_DIV_EXPR:
    case RSHIFT_EXPR:
      {
        // Monotone, and rounding moves a value by less than one. Not of a value that is known modulo the width of addresses only.
        if (TYPE_UNSIGNED (type) || !tree_fits_uhwi_p (y) || !range (x, r) || !r->small || (code == RSHIFT_EXPR && tree_to_uhwi (y) > 31))
          return false;
        tree by = code == RSHIFT_EXPR ? build_int_cst (ssizetype, HOST_WIDE_INT_1 << tree_to_uhwi (y)) : fold_convert (ssizetype, y);
        if (tree_int_cst_sgn (by) <= 0)
          return false;
        tree first = emit (fold_build2 (TRUNC_DIV_EXPR, ssizetype, emit (fold_convert (ssizetype, r->first)), by)), d = number (by);
        auto less = [&] (tree t) { return sum (emit (fold_build2 (RDIV_EXPR, double_type_node, t, d)), constant (2)); };
        *r = { emit (fold_convert (sizetype, first)), less (r->down), less (r->up), true };
        return true;
      }
    case BIT_AND_EXPR:
      if (!tree_fits_uhwi_p (y) || tree_to_uhwi (y) > (HOST_WIDE_INT_1U << 31))
        return false;
      *r = { size_zero_node, constant (0), number (fold_convert (ssizetype, y)), true };
      return true;
    CASE_CONVERT:
      {
        tree from = TREE_TYPE (x);
        if (!INTEGRAL_TYPE_P (from) && !POINTER_TYPE_P (from))
          return false;
        // The value must be the same one in the new type, or the same modulo the width of addresses.
        unsigned to = TYPE_PRECISION (type), precision = TYPE_PRECISION (from);
        bool keeps = to == TYPE_PRECISION (sizetype) || TYPE_UNSIGNED (type) == TYPE_UNSIGNED (from)
                     || (to > precision && TYPE_UNSIGNED (from));
        return to >= precision && keeps && range (x, r);
      }
    case SSA_NAME:
    case NON_LVALUE_EXPR:
      return range (x, r);
    default:
      return false;
    }
}

/// A variable of a loop within.
bool Extents::induction (tree name, Range *r)
{
  class loop *l = gimple_bb (SSA_NAME_DEF_STMT (name))->loop_father;
  affine_iv iv;
  if (l != around_ && !flow_loop_nested_p (around_, l))
    return false;
  tree step = simple_iv (l, l, name, &iv, true) ? fixed (iv.step) : NULL_TREE;
  if (!step)
    return false;
  if (!iv.no_overflow && !is_exact (TREE_TYPE (name)))
    return false;
  tree n = iterations (l);
  if (!n || !range (iv.base, r))
    return false;
  Range way = { size_zero_node, constant (0), n, false };
  scale (&way, wide (step));
  r->down = sum (r->down, way.down);
  r->up = sum (r->up, way.up);
  return true;
}

/// How often the variables of `l` have changed at most when the access happens.
tree Extents::iterations (class loop *l)
{
  auto_vec<edge> exits = get_loop_exit_edges (l);
  for (edge e : exits)
    {
      tree n = repetitions (l, e, true);
      if (!n || !(n = fixed (n)))
        continue;
      tree times = number (n);
      // Behind the test that ends the loop: one time less.
      if (e->src != bb_ && flow_bb_inside_loop_p (l, bb_) && dominated_by_p (CDI_DOMINATORS, bb_, e->src))
        times = emit (fold_build2 (MAX_EXPR, double_type_node, emit (fold_build2 (MINUS_EXPR, double_type_node, times, constant (1))),
                                   constant (0)));
      return times;
    }
  return NULL_TREE;
}

bool Extents::of (const Memory::Item &access, const Memory &memory, Extent *out)
{
  tree size, ref = memory.expression (access.place), at = ref ? address (unshare_expr (ref), &size) : NULL_TREE;
  Range r;
  bb_ = gimple_bb (access.stmt);
  steps_ = 0;
  // Outside of the loop an access must be in the same place whenever it is executed.
  if (!at || (!flow_bb_inside_loop_p (around_, bb_) && !is_gimple_min_invariant (at)) || !range (at, &r))
    return false;
  *out = { r.first, r.down, r.up, number (fold_convert (ssizetype, size)) };
  return true;
}

tree Extents::may_meet (const Extent &a, const Extent &b)
{
  // From a's first address to b's. Addresses are exact in a double up to 2^53; the margin is for longer ones.
  tree way = number (fold_convert (ssizetype, emit (fold_build2 (MINUS_EXPR, sizetype, b.first, a.first))));
  auto below = [&] (tree end, tree start) {
    return emit (fold_build2 (UNGT_EXPR, boolean_type_node, sum (end, constant (64)), start));
  };
  tree up = below (sum (a.up, a.size), emit (fold_build2 (MINUS_EXPR, double_type_node, way, b.down)));
  tree down = below (sum (sum (way, b.up), b.size), emit (fold_build1 (NEGATE_EXPR, double_type_node, a.down)));
  return emit (fold_build2 (BIT_AND_EXPR, boolean_type_node, up, down));
}

} // namespace promp
