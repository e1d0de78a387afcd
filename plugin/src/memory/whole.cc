// What loops write without gaps: the address of a store as a sum of the variables of the loops around it,
// each times a stride. Loops of a collapsed nest count (collapse.cc), and a loop over a tile together with
// the loop over the tiles is one over all of it. Strides and numbers of iterations may be any expression of
// what the loops do not change; whether they fit together, and that each loop is executed once at least, is
// found out when the program runs (crates/omp/src/team/loop_nests.rs). So numbers are taken for what they
// are, without a thought of what happens without iterations, or when the sum is larger than memory is.

#include "memory/whole.h"
#include "memory/counters.h"
#include "memory/loop_sums.h"
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

/// The two halves of a complex number, fields of a structure: one after the other, by the same loops.
bool is_part_of_another (const Nest &n, std::vector<Nest> &found)
{
  for (Nest &o : found)
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

class Finder
{
public:
  Finder (function *fn, Pointers &p, const std::function<bool (tree)> &comes_back)
      : fn_ (fn), pointers_ (p), comes_back_ (comes_back), counters_ (fn), sums_ (counters_)
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
    bb_ = gimple_bb (s);
    counters_.seen_from (bb_);
    sums_.seen_from (bb_);
    Sum sum;
    sum.rest = size_int (at / 8);
    if (offset && !sums_.part (offset, &sum, size_one_node))
      return;
    Nest n;
    if (TREE_CODE (base) == MEM_REF)
      {
        sum.rest = plus (sum.rest, fold_convert (sizetype, TREE_OPERAND (base, 1)));
        n.base = sums_.root (TREE_OPERAND (base, 0), &sum);
      }
    else
      n.base = DECL_P (base) ? build_fold_addr_expr (base) : NULL_TREE;
    if (!n.base)
      return;
    n.store = s, n.objects = objects, n.bytes = size / 8, n.start = nullptr;
    if (levels (sum, &n) && !is_part_of_another (n, found_))
      found_.push_back (n);
  }

  /// The loops that a sum goes through.
  struct Loops
  {
    class loop *outermost = nullptr, *chunk = nullptr;
    std::set<class loop *> done;
  };

  bool levels (Sum sum, Nest *n)
  {
    Loops loops;
    while (!sum.terms.empty ())
      if (!take_innermost (&sum, n, &loops))
        return false;
    if (!loops.outermost)
      return false;
    n->first = sum.rest;
    return writes_again (n, loops) && always (loops.outermost) && is_whole (n, loops);
  }

  /// Makes the innermost variable of the sum a level of the nest.
  bool take_innermost (Sum *sum, Nest *n, Loops *loops)
  {
    // The loops of a collapsed nest are one, of GCC's.
    auto at = sum->terms.begin ();
    for (auto i = sum->terms.begin (); i != sum->terms.end (); ++i)
      if (loop_depth (loop_of (i->first)) > loop_depth (loop_of (at->first)))
        at = i;
    tree name = at->first, stride = at->second;
    sum->terms.erase (at);
    class loop *l = loop_of (name);
    if (n->start && l != loops->chunk && !flow_loop_nested_p (loops->chunk, l))
      return false;
    if (const Dimension *d = counters_.dimension (name))
      {
        if (n->start && l != loops->chunk)
          return false;
        n->levels.push_back ({ times (stride, size_int (d->step)), d->count });
        sum->rest = plus (sum->rest, times (fold_convert (sizetype, d->first), stride));
        if (loops->done.insert (l).second)
          n->levels.push_back ({ size_zero_node, counters_.nested (l).of.condition });
        loops->chunk = l, n->start = counters_.nested (l).start;
      }
    else if (!take_counter (&l, name, stride, sum, n, loops))
      return false;
    if (!loops->outermost || flow_loop_nested_p (l, loops->outermost))
      loops->outermost = l;
    return true;
  }

  /// The same of a loop that is not collapsed; where it is over a tile, `l` is that over all tiles then.
  bool take_counter (class loop **l, tree name, tree stride, Sum *sum, Nest *n, Loops *loops)
  {
    Counter v;
    gimple *before = n->start;
    if (*l == loops->chunk || !loops->done.insert (*l).second || !level (name, stride, n, &v)
        || (before && n->start != before))
      return false;
    if (!v.tile && !sums_.part (v.first, sum, stride))
      return false;
    if (v.tile)
      {
        // What the tile's number is elsewhere in the sum is not known here.
        class loop *all = loop_of (v.tile);
        if (sum->terms.count (v.tile) || !flow_loop_nested_p (all, *l)
            || (!loops->done.insert (all).second && all != loops->chunk))
          return false;
        sum->rest = plus (sum->rest, times (fold_convert (sizetype, v.first), stride));
        if (counters_.dimension (v.tile) && all != loops->chunk)
          n->levels.push_back ({ size_zero_node, counters_.nested (all).of.condition });
        *l = all;
      }
    if (n->start && !loops->chunk)
      loops->chunk = *l;
    return true;
  }

  /// Do the other loops between them write the same again?
  bool writes_again (Nest *n, const Loops &loops)
  {
    for (class loop *l = bb_->loop_father; l != loops.outermost; l = loop_outer (l))
      if (!loops.done.count (l))
        {
          tree name = counters_.variable_of (l);
          Counter v;
          gimple *before = n->start;
          if (!name || !level (name, size_zero_node, n, &v) || n->start != before || v.tile)
            return false;
        }
    return true;
  }

  /// Is the nest all of its loops, and the same throughout?
  bool is_whole (Nest *n, const Loops &loops)
  {
    class loop *whole = n->start ? loop_outer (loops.outermost) : loops.outermost;
    if (n->start
        && (whole == current_loops->tree_root || !is_chunks_loop (whole, loops.outermost, n->start)))
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
    if (!sums_.part (v->end, &count, size_one_node)
        || !sums_.part (v->first, &count, fold_convert (sizetype, build_int_cst (ssizetype, -1)))
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
  LoopSums sums_;
  std::vector<Nest> found_;
  basic_block bb_ = nullptr; ///< of the store
};

} // namespace

std::vector<Nest> nests_of (function *fn, Pointers &pointers, const std::function<bool (tree)> &comes_back)
{
  return Finder (fn, pointers, comes_back).run ();
}

} // namespace promp
