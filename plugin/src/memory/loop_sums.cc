// Addresses and numbers as sums of the variables of loops, each times a factor.

#include "memory/loop_sums.h"
#include "memory/collapse.h"
#include "ssa.h"
#include "tree-dfa.h"
#include "cfgloop.h"

namespace promp {

static void add (Sum &to, const Sum &what, tree factor)
{
  for (auto &t : what.terms)
    {
      tree &f = to.terms[t.first];
      f = f ? plus (f, times (t.second, factor)) : times (t.second, factor);
      if (integer_zerop (f))
        to.terms.erase (t.first);
    }
  to.rest = plus (to.rest, times (what.rest, factor));
}

tree LoopSums::root (tree p, Sum *sum)
{
  while (TREE_CODE (p) == SSA_NAME && ++steps_ < 200)
    {
      gassign *a = dyn_cast<gassign *> (SSA_NAME_DEF_STMT (p));
      if (!a)
        break;
      if (gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR)
        {
          if (!part (gimple_assign_rhs2 (a), sum, size_one_node))
            return NULL_TREE;
        }
      else if (!gimple_assign_ssa_name_copy_p (a)
               && !(CONVERT_EXPR_CODE_P (gimple_assign_rhs_code (a))
                    && POINTER_TYPE_P (TREE_TYPE (gimple_assign_rhs1 (a)))))
        break;
      p = gimple_assign_rhs1 (a);
    }
  if (TREE_CODE (p) == ADDR_EXPR)
    {
      poly_int64 off;
      HOST_WIDE_INT at;
      tree base = get_addr_base_and_unit_offset (TREE_OPERAND (p, 0), &off);
      if (!base || !DECL_P (base) || !off.is_constant (&at))
        return NULL_TREE;
      sum->rest = plus (sum->rest, size_int (at));
      return build_fold_addr_expr (base);
    }
  return TREE_CODE (p) == SSA_NAME ? p : NULL_TREE;
}

bool LoopSums::part (tree e, Sum *sum, tree factor)
{
  Sum s;
  if (!expand (e, &s))
    return false;
  add (*sum, s, factor);
  return true;
}

bool LoopSums::expand (tree e, Sum *out)
{
  if (++steps_ > 200)
    return false;
  if (TREE_CODE (e) == INTEGER_CST)
    {
      out->rest = fold_convert (sizetype, e);
      return true;
    }
  if (TREE_CODE (e) != SSA_NAME)
    {
      if (CONVERT_EXPR_P (e))
        return operation (NOP_EXPR, TREE_TYPE (e), TREE_OPERAND (e, 0), NULL_TREE, NULL_TREE, out);
      if (BINARY_CLASS_P (e))
        return operation (TREE_CODE (e), TREE_TYPE (e), TREE_OPERAND (e, 0), TREE_OPERAND (e, 1), NULL_TREE,
                          out);
      return false;
    }
  if (!INTEGRAL_TYPE_P (TREE_TYPE (e)) || TYPE_PRECISION (TREE_TYPE (e)) > 64)
    return false;
  gimple *def = SSA_NAME_DEF_STMT (e);
  gassign *a = dyn_cast<gassign *> (def);
  if (a && get_gimple_rhs_class (gimple_assign_rhs_code (a)) != GIMPLE_SINGLE_RHS
      && gimple_num_ops (a) <= 3)
    {
      Sum inner;
      if (operation (gimple_assign_rhs_code (a), TREE_TYPE (e), gimple_assign_rhs1 (a),
                     gimple_num_ops (a) > 2 ? gimple_assign_rhs2 (a) : NULL_TREE, e, &inner))
        {
          *out = inner;
          return true;
        }
      // As it is, if no loop changes it.
    }
  if (a && gimple_assign_ssa_name_copy_p (a))
    return expand (gimple_assign_rhs1 (a), out);
  if (gphi *phi = dyn_cast<gphi *> (def))
    {
      if (counters_.evolves (e) || counters_.dimension (e))
        {
          out->terms[e] = size_one_node;
          return true;
        }
      // One of two, by tests of what the loops do not change.
      tree one, other, is_one;
      Sum a, b;
      class loop *l = gimple_bb (phi)->loop_father;
      if (l->header != gimple_bb (phi) && !(gimple_bb (phi)->flags & BB_IRREDUCIBLE_LOOP)
          && flow_bb_inside_loop_p (l, bb_) && chosen (phi, &one, &other, &is_one) && expand (one, &a)
          && expand (other, &b) && (!a.terms.empty () || !b.terms.empty ()))
        {
          add (*out, a, is_one);
          add (*out, b, minus (size_one_node, is_one));
          return true;
        }
    }
  out->rest = fold_convert (sizetype, e);
  return true;
}

/// `whole`: the name of the value, or NULL_TREE.
bool LoopSums::operation (enum tree_code code, tree type, tree x, tree y, tree whole, Sum *out)
{
  Sum a, b;
  if (CONVERT_EXPR_CODE_P (code))
    {
      if (!INTEGRAL_TYPE_P (TREE_TYPE (x)) || !INTEGRAL_TYPE_P (type))
        return false;
      unsigned from = TYPE_PRECISION (TREE_TYPE (x)), to = TYPE_PRECISION (type);
      if (!expand (x, &a))
        return false;
      // To a narrower or an unsigned type of the same width the value may be another one: modulo 2^64 it is
      // the same only if that is all there is.
      bool keeps = to > from
                       ? true
                       : to == from && (to == 64 || TYPE_UNSIGNED (type) == TYPE_UNSIGNED (TREE_TYPE (x)));
      if (!keeps)
        {
          if (!a.terms.empty () || !whole)
            return false;
          out->rest = fold_convert (sizetype, whole);
          return true;
        }
      *out = a;
      return true;
    }
  switch (code)
    {
    case PLUS_EXPR:
    case MINUS_EXPR:
    case MULT_EXPR:
    case LSHIFT_EXPR:
      break;
    default:
      return false;
    }
  if (!expand (x, &a) || !expand (y, &b))
    return false;
  // What wraps below 64 bits is not the sum; no variable of a loop may be in it.
  if (TYPE_PRECISION (type) < 64 && !TYPE_OVERFLOW_UNDEFINED (type))
    {
      if (!a.terms.empty () || !b.terms.empty () || !whole)
        return false;
      out->rest = fold_convert (sizetype, whole);
      return true;
    }
  if (code == PLUS_EXPR || code == MINUS_EXPR)
    {
      *out = a;
      add (*out, b,
           code == PLUS_EXPR ? size_one_node : fold_convert (sizetype, build_int_cst (ssizetype, -1)));
      return true;
    }
  if (code == LSHIFT_EXPR)
    {
      if (!b.terms.empty () || TREE_CODE (b.rest) != INTEGER_CST || compare_tree_int (b.rest, 62) > 0)
        return false;
      b.rest = size_int (HOST_WIDE_INT_1 << tree_to_shwi (b.rest));
    }
  if (!a.terms.empty () && !b.terms.empty ())
    return false;
  if (a.terms.empty ())
    std::swap (a, b);
  add (*out, a, b.rest);
  return true;
}

} // namespace promp
