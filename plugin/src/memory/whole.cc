// What loops write without gaps: the address of a store as a sum of the variables of the loops around it,
// each times a stride. Loops of a collapsed nest count (collapse.cc), and a loop over a tile together with
// the loop over the tiles is one over all of it. Strides and numbers of iterations may be any expression of
// what the loops do not change; whether they fit together, and that each loop is executed once at least, is
// found out when the program runs (crates/omp/src/team/loop_nests.rs). So numbers are taken for what they
// are, without a thought of what happens without iterations, or when the sum is larger than memory is.

#include "memory/whole.h"
#include "memory/counters.h"
#include "memory/memory.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-eh.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-niter.h"
#include <functional>
namespace promp {
namespace {

/// A sum of loops' variables, each times a factor, and the rest; all of sizetype.
struct Sum
{
  std::map<tree, tree> terms;
  tree rest = size_zero_node;
};

tree plus (tree a, tree b) { return fold_build2 (PLUS_EXPR, sizetype, a, b); }
tree minus (tree a, tree b) { return fold_build2 (MINUS_EXPR, sizetype, a, b); }
tree times (tree a, tree b) { return fold_build2 (MULT_EXPR, sizetype, a, b); }

void add (Sum &to, const Sum &what, tree factor)
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

bool loads_fixed (tree ref, const Nest &n);

/// Are the operands the same in all of the nest: defined outside, or loaded (whether that changes is
/// looked at elsewhere)?
bool is_fixed (tree e, const Nest &n)
{
  switch (TREE_CODE (e))
    {
    case INTEGER_CST:
    case ADDR_EXPR:
      return true;
      case SSA_NAME: {
        gimple *def = SSA_NAME_DEF_STMT (e);
        basic_block bb = gimple_bb (def);
        if (!bb || !n.blocks.count (bb))
          return true;
        gassign *a = dyn_cast<gassign *> (def);
        if (!a)
          return false;
        if (gimple_assign_load_p (a))
          return loads_fixed (gimple_assign_rhs1 (a), n);
        for (unsigned i = 1; i < gimple_num_ops (a); i++)
          if (!is_fixed (gimple_op (a, i), n))
            return false;
        return true;
      }
    default:
      for (int i = 0; i < TREE_OPERAND_LENGTH (e); i++)
        if (TREE_OPERAND (e, i) && !is_fixed (TREE_OPERAND (e, i), n))
          return false;
      return EXPR_P (e);
    }
}

/// Is it a load of the same memory each time?
bool loads_fixed (tree ref, const Nest &n)
{
  poly_int64 off;
  tree base = get_addr_base_and_unit_offset (ref, &off);
  return base && (DECL_P (base) || (TREE_CODE (base) == MEM_REF && is_fixed (TREE_OPERAND (base, 0), n)));
}

bool all_fixed (const Nest &n)
{
  for (auto &l : n.levels)
    if (!is_fixed (l.first, n) || !is_fixed (l.second, n))
      return false;
  return true;
}

/// Nothing in it leaves it in the middle.
bool is_finished (const Nest &n, function *fn, Pointers &pointers,
                  const std::function<bool (tree)> &comes_back)
{
  for (basic_block bb : n.blocks)
    for (gimple_stmt_iterator g = gsi_start_bb (bb); !gsi_end_p (g); gsi_next (&g))
      {
        gimple *s = gsi_stmt (g);
        if (stmt_can_throw_external (fn, s))
          return false;
        tree callee = is_gimple_call (s) ? gimple_call_fndecl (s) : NULL_TREE;
        if (!is_gimple_call (s) || !gimple_vuse (s) || keeps_nothing (s)
            || (callee && pointers.is_known (callee) && comes_back (callee)))
          continue;
        bool harmless = callee && gimple_call_builtin_p (s, BUILT_IN_NORMAL)
                        && !(gimple_call_flags (s) & ECF_NORETURN)
                        && (DECL_FUNCTION_CODE (callee) == BUILT_IN_MEMCPY
                            || DECL_FUNCTION_CODE (callee) == BUILT_IN_MEMSET
                            || DECL_FUNCTION_CODE (callee) == BUILT_IN_MEMMOVE
                            || (gimple_call_lhs (s) && SCALAR_FLOAT_TYPE_P (TREE_TYPE (gimple_call_lhs (s)))
                                && is_of_numbers (s)));
        if (!harmless)
          return false;
      }
  return true;
}

class Finder
{
public:
  Finder (function *fn, Pointers &p, const std::function<bool (tree)> &comes_back)
      : fn_ (fn), pointers_ (p), comes_back_ (comes_back), counters_ (fn)
  {
  }

  std::vector<Nest> run ()
  {
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
    if (loop_depth (bb->loop_father) > 0)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (gassign *a = dyn_cast<gassign *> (gsi_stmt (i)))
          if (gimple_store_p (a))
            store (a);
    return found_;
  }

private:
  void store (gassign *s)
  {
    tree ref = gimple_assign_lhs (s);
    std::set<unsigned> objects;
    for (const Target &t : pointers_.at (ref))
      objects.insert (t.first);
    if (objects.empty () || TREE_THIS_VOLATILE (ref) || stmt_could_throw_p (fn_, s))
      return;
    poly_int64 bits, pos;
    tree offset;
    machine_mode mode;
    int u, r, vol;
    tree base = get_inner_reference (ref, &bits, &pos, &offset, &mode, &u, &r, &vol);
    HOST_WIDE_INT size, at;
    if (!bits.is_constant (&size) || !pos.is_constant (&at) || size % 8 || at % 8 || size <= 0)
      return;
    bb_ = gimple_bb (s), steps_ = 0;
    counters_.seen_from (bb_);
    Sum sum;
    sum.rest = size_int (at / 8);
    if (offset && !part (offset, &sum, size_one_node))
      return;
    Nest n;
    if (TREE_CODE (base) == MEM_REF)
      {
        sum.rest = plus (sum.rest, fold_convert (sizetype, TREE_OPERAND (base, 1)));
        n.base = root (TREE_OPERAND (base, 0), &sum);
      }
    else
      n.base = DECL_P (base) ? build_fold_addr_expr (base) : NULL_TREE;
    if (!n.base)
      return;
    n.store = s, n.objects = objects, n.bytes = size / 8, n.start = nullptr;
    if (levels (sum, &n) && !is_part_of_another (n))
      found_.push_back (n);
  }

  /// The two halves of a complex number, fields of a structure: one after the other, by the same loops.
  bool is_part_of_another (const Nest &n)
  {
    for (Nest &o : found_)
      {
        if (gimple_bb (o.store) != gimple_bb (n.store) || o.levels.size () != n.levels.size ()
            || !operand_equal_p (o.base, n.base))
          continue;
        bool same = true;
        for (unsigned i = 0; i < n.levels.size (); i++)
          same = same && operand_equal_p (o.levels[i].first, n.levels[i].first)
                 && operand_equal_p (o.levels[i].second, n.levels[i].second);
        tree apart = minus (n.first, o.first);
        if (!same || !tree_fits_shwi_p (fold_convert (ssizetype, apart)))
          continue;
        HOST_WIDE_INT d = tree_to_shwi (fold_convert (ssizetype, apart));
        if (d == o.bytes)
          o.bytes += n.bytes;
        else if (d == -n.bytes)
          o.first = n.first, o.bytes += n.bytes;
        else
          continue;
        return true;
      }
    return false;
  }

  /// Where the pointer `p` points, without what is added to it.
  tree root (tree p, Sum *sum)
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

  /// Adds `e` times `factor` to `sum`. A value is what it is as an integer, not modulo its type's width.
  bool part (tree e, Sum *sum, tree factor)
  {
    Sum s;
    if (!expand (e, &s))
      return false;
    add (*sum, s, factor);
    return true;
  }

  bool expand (tree e, Sum *out)
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
  bool operation (enum tree_code code, tree type, tree x, tree y, tree whole, Sum *out)
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

  bool levels (Sum sum, Nest *n)
  {
    class loop *outermost = nullptr, *chunk = nullptr;
    std::set<class loop *> done;
    while (!sum.terms.empty ())
      {
        // The innermost one. The loops of a collapsed nest are one, of GCC's.
        auto at = sum.terms.begin ();
        for (auto i = sum.terms.begin (); i != sum.terms.end (); ++i)
          if (loop_depth (loop_of (i->first)) > loop_depth (loop_of (at->first)))
            at = i;
        tree name = at->first, stride = at->second;
        sum.terms.erase (at);
        class loop *l = loop_of (name);
        Counter v;
        if (n->start && l != chunk && !flow_loop_nested_p (chunk, l))
          return false;
        if (const Dimension *d = counters_.dimension (name))
          {
            if (n->start && l != chunk)
              return false;
            n->levels.push_back ({ times (stride, size_int (d->step)), d->count });
            sum.rest = plus (sum.rest, times (fold_convert (sizetype, d->first), stride));
            if (done.insert (l).second)
              n->levels.push_back ({ size_zero_node, counters_.nested (l).of.condition });
            chunk = l, n->start = counters_.nested (l).start;
          }
        else
          {
            gimple *before = n->start;
            if (l == chunk || !done.insert (l).second || !level (name, stride, n, &v)
                || (before && n->start != before))
              return false;
            if (!v.tile && !part (v.first, &sum, stride))
              return false;
            if (v.tile)
              {
                // What the tile's number is elsewhere in the sum is not known here.
                class loop *all = loop_of (v.tile);
                if (sum.terms.count (v.tile) || !flow_loop_nested_p (all, l)
                    || (!done.insert (all).second && all != chunk))
                  return false;
                sum.rest = plus (sum.rest, times (fold_convert (sizetype, v.first), stride));
                if (counters_.dimension (v.tile) && all != chunk)
                  n->levels.push_back ({ size_zero_node, counters_.nested (all).of.condition });
                l = all;
              }
            if (n->start && !chunk)
              chunk = l;
          }
        if (!outermost || flow_loop_nested_p (l, outermost))
          outermost = l;
      }
    if (!outermost)
      return false;
    n->first = sum.rest;
    // Other loops between them write the same again.
    for (class loop *l = bb_->loop_father; l != outermost; l = loop_outer (l))
      if (!done.count (l))
        {
          tree name = counters_.variable_of (l);
          Counter v;
          gimple *before = n->start;
          if (!name || !level (name, size_zero_node, n, &v) || n->start != before || v.tile)
            return false;
        }
    if (!always (outermost))
      return false;
    class loop *whole = n->start ? loop_outer (outermost) : outermost;
    if (n->start && (whole == current_loops->tree_root || !is_chunks_loop (whole, outermost, n->start)))
      return false;
    n->header = whole->header;
    basic_block *body = get_loop_body (whole);
    n->blocks.insert (body, body + whole->num_nodes);
    free (body);
    return is_fixed (n->base, *n) && is_fixed (n->first, *n) && all_fixed (*n)
           && is_finished (*n, fn_, pointers_, comes_back_);
  }

  bool level (tree name, tree stride, Nest *n, Counter *v)
  {
    bool in_front;
    Sum count;
    if (!counters_.evolves (name, v, &in_front))
      return false;
    if (v->tile)
      {
        Counter tiles = { NULL_TREE, NULL_TREE, 0, 0, nullptr, NULL_TREE };
        if (const Dimension *d = counters_.dimension (v->tile))
          tiles = { d->first, d->end, 0, d->step, counters_.nested (loop_of (v->tile)).start, NULL_TREE };
        else if (!counters_.evolves (v->tile, &tiles, &in_front) || tiles.tile || tiles.more != 0)
          return false;
        if (!tiles.end)
          return false;
        // All tiles, if they end where the last one of them is cut off.
        tree end = plus (fold_convert (sizetype, v->end), size_int (v->more));
        n->levels.push_back ({ stride, times (minus (end, fold_convert (sizetype, tiles.first)),
                                              truth (EQ_EXPR, end, fold_convert (sizetype, tiles.end))) });
        v->first = tiles.first;
        n->start = n->start ? n->start : tiles.start;
        return true;
      }
    if (v->step > 1)
      {
        // As many steps as it takes.
        if (v->more != 0)
          return false;
        v->more = v->step - 1;
      }
    count.rest = fold_convert (sizetype, build_int_cst (ssizetype, v->more));
    if (!part (v->end, &count, size_one_node)
        || !part (v->first, &count, fold_convert (sizetype, build_int_cst (ssizetype, -1)))
        || !count.terms.empty ())
      return false;
    if (v->step > 1)
      count.rest = fold_build2 (TRUNC_DIV_EXPR, sizetype, count.rest, size_int (v->step));
    n->levels.push_back ({ times (stride, size_int (v->step)), count.rest });
    if (v->start)
      n->start = v->start;
    return true;
  }

  /// Is the store executed in every iteration of all loops around it up to `outermost`, if each of them is
  /// executed once at least?
  bool always (class loop *outermost)
  {
    basic_block bb = bb_;
    for (class loop *l = bb->loop_father;; l = loop_outer (l))
      {
        if ((!single_exit (l) && !counters_.is_tiled (l)) || !dominated_by_p (CDI_DOMINATORS, l->latch, bb))
          return false;
        if (l == outermost)
          return true;
        bb = l->header;
      }
  }

  function *fn_;
  Pointers &pointers_;
  const std::function<bool (tree)> &comes_back_;
  Counters counters_;
  std::vector<Nest> found_;
  basic_block bb_ = nullptr; ///< of the store
  unsigned steps_ = 0;
};

} // namespace

std::vector<Nest> nests_of (function *fn, Pointers &pointers, const std::function<bool (tree)> &comes_back)
{
  return Finder (fn, pointers, comes_back).run ();
}

} // namespace promp
