// Collapsed loops, as GCC has made one loop over the iterations of a chunk of them:
//
//     V = first of the chunk
//     Vn = Fn + V % Cn * Sn;  T = V / Cn;  ...  V1 = F1 + T * S1
//   L: body
//     V = V + 1;  if (V >= end of the chunk) leave
//     Vn = Vn + Sn;  if (Vn < En) goto L;  Vn = Fn
//     ...
//     V1 = V1 + S1;  goto L
//
// of C1 * ... * Cn iterations in all. What GCC's variables hold when a chunk begins is what counting on from
// the chunk before would have made of them, if Ck is the number of values from Fk by Sk to Ek. That is part
// of the condition, which is found out at the place, as is that all loops are executed at all.

#include "memory/collapse.h"
#include "memory/memory.h"
#include "ssa.h"
#include "tree-cfg.h"
#include <algorithm>

namespace promp {

tree without_conversions (tree t, bool narrower)
{
  for (int depth = 0; depth < 16 && TREE_CODE (t) == SSA_NAME; depth++)
    {
      gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t));
      if (!a || !INTEGRAL_TYPE_P (TREE_TYPE (t))
          || !(CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a)) || gimple_assign_ssa_name_copy_p (a))
          || !INTEGRAL_TYPE_P (TREE_TYPE (gimple_assign_rhs1 (a)))
          || (!narrower
              && TYPE_PRECISION (TREE_TYPE (t)) < TYPE_PRECISION (TREE_TYPE (gimple_assign_rhs1 (a)))))
        break;
      t = gimple_assign_rhs1 (a);
    }
  return t;
}

tree truth (enum tree_code code, tree x, tree y)
{
  return fold_convert (sizetype, fold_build2 (code, boolean_type_node, x, y));
}

tree goes_over (edge to, basic_block from)
{
  tree all = size_one_node;
  for (int depth = 0; depth < 8; depth++)
    {
      basic_block bb = to->src;
      if (gcond *test = safe_dyn_cast<gcond *> (last_stmt (bb)))
        {
          if (!INTEGRAL_TYPE_P (TREE_TYPE (gimple_cond_lhs (test))))
            return NULL_TREE;
          enum tree_code code = gimple_cond_code (test);
          if (to->flags & EDGE_FALSE_VALUE)
            code = invert_tree_comparison (code, false);
          all = fold_build2 (MULT_EXPR, sizetype, all,
                             truth (code, gimple_cond_lhs (test), gimple_cond_rhs (test)));
        }
      else if (!single_succ_p (bb))
        return NULL_TREE;
      if (bb == from)
        return all;
      if (!single_pred_p (bb))
        return NULL_TREE;
      to = single_pred_edge (bb);
    }
  return NULL_TREE;
}

bool chosen (gphi *phi, tree *one, tree *other, tree *is_one)
{
  basic_block bb = gimple_bb (phi), from = get_immediate_dominator (CDI_DOMINATORS, bb);
  if (!from || gimple_phi_num_args (phi) < 2 || gimple_phi_num_args (phi) > 8)
    return false;
  // The one that comes over one edge only.
  for (unsigned k = 0; k < gimple_phi_num_args (phi); k++)
    {
      tree a = gimple_phi_arg_def (phi, k), b = NULL_TREE;
      bool two = true;
      for (unsigned j = 0; j < gimple_phi_num_args (phi); j++)
        if (j != k)
          {
            tree c = gimple_phi_arg_def (phi, j);
            two = two && (!b || operand_equal_p (b, c));
            b = c;
          }
      tree is = two ? goes_over (gimple_phi_arg_edge (phi, k), from) : NULL_TREE;
      if (is)
        {
          *one = a, *other = b, *is_one = is;
          return true;
        }
    }
  return false;
}

namespace {

gassign *assignment (tree t)
{
  return TREE_CODE (t) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (t)) : nullptr;
}

bool is_same (tree a, tree b) { return operand_equal_p (without_conversions (a), without_conversions (b)); }

/// A number of iterations; where there are none at all, GCC leaves that of a loop further inside undefined.
tree number (tree t)
{
  t = without_conversions (t);
  gphi *phi = TREE_CODE (t) == SSA_NAME ? dyn_cast<gphi *> (SSA_NAME_DEF_STMT (t)) : nullptr;
  tree one = NULL_TREE;
  if (phi && gimple_bb (phi)->loop_father->header == gimple_bb (phi))
    return t;
  for (unsigned k = 0; phi && k < gimple_phi_num_args (phi); k++)
    {
      tree a = gimple_phi_arg_def (phi, k);
      bool undefined = TREE_CODE (a) == SSA_NAME && SSA_NAME_IS_DEFAULT_DEF (a) && SSA_NAME_VAR (a)
                       && VAR_P (SSA_NAME_VAR (a));
      if (!undefined && one)
        return t;
      if (!undefined)
        one = a;
    }
  return one ? without_conversions (one) : t;
}

/// Is it `x` CODE a constant, or what GCC makes of that for powers of two? Then which.
tree divided (tree t, tree x, bool rest)
{
  gassign *a = assignment (without_conversions (t, true));
  if (!a || gimple_num_ops (a) != 3 || !is_same (gimple_assign_rhs1 (a), x))
    return NULL_TREE;
  tree by = gimple_assign_rhs2 (a);
  enum tree_code code = gimple_assign_rhs_code (a);
  if (code == (rest ? TRUNC_MOD_EXPR : TRUNC_DIV_EXPR))
    return number (by);
  if (!tree_fits_shwi_p (by))
    return NULL_TREE;
  HOST_WIDE_INT n = tree_to_shwi (by);
  if (rest && code == BIT_AND_EXPR && n > 0 && pow2p_hwi (n + 1))
    return size_int (n + 1);
  if (!rest && code == RSHIFT_EXPR && n >= 0 && n < 62)
    return size_int (HOST_WIDE_INT_1 << n);
  return NULL_TREE;
}

/// Is it `first` + `step` times something? Then what: it counts modulo the variable's width only, in which
/// all of its values are.
tree digit (tree t, tree first, HOST_WIDE_INT step)
{
  t = without_conversions (t, true);
  if (!integer_zerop (first))
    {
      gassign *a = assignment (t);
      if (!a || gimple_assign_rhs_code (a) != PLUS_EXPR)
        return NULL_TREE;
      tree x = gimple_assign_rhs1 (a), y = gimple_assign_rhs2 (a);
      if (is_same (x, first))
        std::swap (x, y);
      if (!is_same (y, first))
        return NULL_TREE;
      t = without_conversions (x, true);
    }
  if (step == 1)
    return t;
  gassign *a = assignment (t);
  if (!a || gimple_num_ops (a) != 3 || !tree_fits_shwi_p (gimple_assign_rhs2 (a)))
    return NULL_TREE;
  HOST_WIDE_INT n = tree_to_shwi (gimple_assign_rhs2 (a));
  bool fits = gimple_assign_rhs_code (a) == MULT_EXPR
                ? n == step
                : gimple_assign_rhs_code (a) == LSHIFT_EXPR && n >= 0 && n < 62
                    && HOST_WIDE_INT_1 << n == step;
  return fits ? without_conversions (gimple_assign_rhs1 (a), true) : NULL_TREE;
}

/// Is it `x` and a positive constant? Then which.
HOST_WIDE_INT step_from (tree t, tree x)
{
  gassign *a = assignment (t);
  if (!a || gimple_assign_rhs_code (a) != PLUS_EXPR || gimple_assign_rhs1 (a) != x
      || !tree_fits_shwi_p (gimple_assign_rhs2 (a)))
    return 0;
  return std::max<HOST_WIDE_INT> (tree_to_shwi (gimple_assign_rhs2 (a)), 0);
}

/// The edge by which `e` leads into `latch`, perhaps through empty blocks; null: it does not.
edge into (edge e, basic_block latch)
{
  for (int depth = 0; depth < 4 && e->dest != latch; depth++)
    {
      basic_block b = e->dest;
      if (!single_succ_p (b) || !single_pred_p (b) || !gimple_seq_empty_p (bb_seq (b)))
        return nullptr;
      e = single_succ_edge (b);
    }
  return e->dest == latch ? e : nullptr;
}

/// What becomes of `next` over the edge into the latch.
tree becomes (tree next, edge in)
{
  gphi *phi = TREE_CODE (next) == SSA_NAME ? dyn_cast<gphi *> (SSA_NAME_DEF_STMT (next)) : nullptr;
  return phi && gimple_bb (phi) == in->dest ? PHI_ARG_DEF_FROM_EDGE (phi, in) : next;
}

class Reader
{
public:
  Reader (class loop *l, tree counter) : loop_ (l), counter_ (counter) {}

  bool read (tree total, Collapsed *out)
  {
    if (!updates () || !variables () || !beginnings ())
      return false;
    tree condition = size_one_node, product = without_conversions (total);
    gimple *def = TREE_CODE (product) == SSA_NAME ? SSA_NAME_DEF_STMT (product) : nullptr;
    if (gphi *phi = def ? dyn_cast<gphi *> (def) : nullptr)
      {
        // None, if one of the loops has none.
        tree zero, is;
        if (!chosen (phi, &product, &zero, &is))
          return false;
        if (integer_zerop (product))
          {
            std::swap (product, zero);
            is = fold_build2 (MINUS_EXPR, sizetype, size_one_node, is);
          }
        if (!integer_zerop (zero))
          return false;
        condition = is;
        product = without_conversions (product);
      }
    tree rest = product, all = size_one_node;
    for (unsigned d = 0; d + 1 < dims_.size (); d++)
      {
        rest = quotient (rest, dims_[d].count);
        if (!rest)
          return false;
      }
    dims_.back ().count = rest;
    for (Dimension &d : dims_)
      {
        d.count = fold_convert (sizetype, d.count);
        all = fold_build2 (MULT_EXPR, sizetype, all, d.count);
        if (d.end)
          {
            tree values = fold_build2 (MINUS_EXPR, sizetype, fold_convert (sizetype, d.end),
                                       fold_convert (sizetype, d.first));
            if (d.step > 1)
              values = fold_build2 (TRUNC_DIV_EXPR, sizetype,
                                    fold_build2 (PLUS_EXPR, sizetype, values, size_int (d.step - 1)),
                                    size_int (d.step));
            condition = fold_build2 (MULT_EXPR, sizetype, condition, truth (EQ_EXPR, d.count, values));
          }
      }
    condition = fold_build2 (MULT_EXPR, sizetype, condition,
                             truth (EQ_EXPR, fold_convert (sizetype, product), all));
    out->dimensions = dims_, out->condition = condition;
    return true;
  }

private:
  /// How the loop goes on: tests of the dimensions but the last one, and the edges into the latch.
  bool updates ()
  {
    edge exit = single_exit (loop_);
    gcond *test = exit ? safe_dyn_cast<gcond *> (last_stmt (exit->src)) : nullptr;
    basic_block latch = loop_->latch;
    if (!test || !latch || !single_succ_p (latch))
      return false;
    edge yes, no;
    extract_true_false_edges_from_block (exit->src, &yes, &no);
    edge on = yes == exit ? no : yes;
    for (int depth = 0; depth < 8; depth++)
      {
        if (edge last = into (on, latch))
          {
            ins_.push_back (last);
            return ins_.size () > 1;
          }
        basic_block bb = on->dest;
        gcond *c = safe_dyn_cast<gcond *> (last_stmt (bb));
        if (!single_pred_p (bb))
          return false;
        if (!c)
          {
            edge last = single_succ_p (bb) ? into (single_succ_edge (bb), latch) : nullptr;
            if (!last)
              return false;
            ins_.push_back (last);
            return ins_.size () > 1;
          }
        extract_true_false_edges_from_block (bb, &yes, &no);
        enum tree_code code = gimple_cond_code (c);
        if (into (no, latch))
          {
            std::swap (yes, no);
            code = invert_tree_comparison (code, false);
          }
        tree low = gimple_cond_lhs (c), high = gimple_cond_rhs (c);
        if (code == GT_EXPR)
          {
            std::swap (low, high);
            code = LT_EXPR;
          }
        if (code == LE_EXPR && tree_fits_shwi_p (high) && tree_to_shwi (high) < INT_MAX)
          {
            high = size_int (tree_to_shwi (high) + 1);
            code = LT_EXPR;
          }
        edge in = into (yes, latch);
        if (!in || (code != LT_EXPR && code != NE_EXPR) || !INTEGRAL_TYPE_P (TREE_TYPE (low)))
          return false;
        ins_.push_back (in);
        tests_.push_back ({ low, high });
        by_one_.push_back (code == NE_EXPR);
        on = no;
      }
    return false;
  }

  /// The variable that each step counts up.
  bool variables ()
  {
    for (unsigned k = 0; k < ins_.size (); k++)
      {
        Dimension found = { NULL_TREE, NULL_TREE, NULL_TREE, NULL_TREE, 0 };
        for (gphi_iterator p = gsi_start_phis (loop_->header); !gsi_end_p (p); gsi_next (&p))
          {
            tree v = gimple_phi_result (p.phi ());
            if (virtual_operand_p (v) || !INTEGRAL_TYPE_P (TREE_TYPE (v)) || v == counter_
                || gimple_phi_num_args (p.phi ()) != 2)
              continue;
            tree next = PHI_ARG_DEF_FROM_EDGE (p.phi (), loop_latch_edge (loop_));
            tree up = becomes (next, ins_[k]);
            HOST_WIDE_INT step = step_from (up, v);
            bool has_test = k < tests_.size ();
            if (!step || (has_test && (tests_[k].first != up || (by_one_[k] && step != 1))))
              continue;
            // Not yet in the steps before, and from its beginning on in those behind.
            bool fits = true;
            tree first = NULL_TREE;
            for (unsigned j = 0; j < ins_.size (); j++)
              if (j < k)
                fits = fits && becomes (next, ins_[j]) == v;
              else if (j > k)
                {
                  tree f = becomes (next, ins_[j]);
                  fits = fits && (!first || operand_equal_p (first, f));
                  first = f;
                }
            if (!fits || found.variable)
              {
                if (fits)
                  return false;
                continue;
              }
            found = { v, first, has_test ? tests_[k].second : NULL_TREE, NULL_TREE, step };
          }
        if (!found.variable)
          return false;
        dims_.push_back (found);
      }
    return true;
  }

  /// What the variables are when a chunk begins.
  bool beginnings ()
  {
    tree rest = before (counter_);
    for (unsigned k = 0; k < dims_.size (); k++)
      {
        Dimension &d = dims_[k];
        bool last = k + 1 == dims_.size ();
        // What the outermost one begins with shows only there.
        if (last)
          d.first = start_of (before (d.variable), rest, k ? dims_[k - 1].count : NULL_TREE, d.step);
        tree what = d.first ? digit (before (d.variable), d.first, d.step) : NULL_TREE;
        if (!what)
          return false;
        if (last)
          return divided (what, rest, false) && is_same (divided (what, rest, false), dims_[k - 1].count);
        gassign *a = assignment (what);
        if (!a)
          return false;
        tree of = gimple_assign_rhs1 (a);
        if (k > 0 && (!divided (of, rest, false) || !is_same (divided (of, rest, false), dims_[k - 1].count)))
          return false;
        if (k > 0)
          rest = without_conversions (of);
        d.count = divided (what, rest, true);
        if (!d.count)
          return false;
      }
    return false;
  }

  tree before (tree v)
  {
    return PHI_ARG_DEF_FROM_EDGE (as_a<gphi *> (SSA_NAME_DEF_STMT (v)), loop_preheader_edge (loop_));
  }

  /// F, where `t` is F + step times what is left of `rest` divided by `count`.
  static tree start_of (tree t, tree rest, tree count, HOST_WIDE_INT step)
  {
    auto is_it = [&] (tree first) {
      tree what = digit (t, first, step);
      tree by = what && count ? divided (what, rest, false) : NULL_TREE;
      return by && is_same (by, count);
    };
    if (is_it (size_zero_node))
      return size_zero_node;
    gassign *a = assignment (without_conversions (t, true));
    if (a && gimple_assign_rhs_code (a) == PLUS_EXPR)
      for (tree f : { gimple_assign_rhs1 (a), gimple_assign_rhs2 (a) })
        if (is_it (f))
          return f;
    return NULL_TREE;
  }

  /// What `product` is a product of, with `count`.
  static tree quotient (tree product, tree count)
  {
    product = without_conversions (product);
    if (tree_fits_shwi_p (product) && tree_fits_shwi_p (count))
      {
        HOST_WIDE_INT p = tree_to_shwi (product), c = tree_to_shwi (count);
        return c > 0 && p % c == 0 ? size_int (p / c) : NULL_TREE;
      }
    gassign *a = assignment (product);
    if (!a || gimple_num_ops (a) != 3)
      return NULL_TREE;
    tree x = gimple_assign_rhs1 (a), y = gimple_assign_rhs2 (a);
    if (gimple_assign_rhs_code (a) == LSHIFT_EXPR && tree_fits_shwi_p (y) && tree_fits_shwi_p (count)
        && tree_to_shwi (y) >= 0 && tree_to_shwi (y) < 62
        && HOST_WIDE_INT_1 << tree_to_shwi (y) == tree_to_shwi (count))
      return x;
    if (gimple_assign_rhs_code (a) != MULT_EXPR)
      return NULL_TREE;
    return is_same (y, count) ? x : is_same (x, count) ? y : NULL_TREE;
  }

  class loop *loop_;
  tree counter_;
  std::vector<edge> ins_;
  std::vector<std::pair<tree, tree>> tests_; ///< the first one is less than the second
  std::vector<bool> by_one_; ///< ... if it is another number, and steps are by one
  std::vector<Dimension> dims_;
};

} // namespace

bool is_collapsed (class loop *l, tree counter, tree total, Collapsed *out)
{
  return Reader (l, counter).read (total, out);
}

} // namespace promp
