// Saving old values before they are overwritten.
//
// A write's old values are saved by promp_undo(start, size, count0, stride0, count1, stride1): elements of
// `size` bytes on a grid of at most two dimensions. The call stands in front of the write, or, better, in
// front of the outermost loop for which the grid is exact: the write is executed in every iteration, its
// address is an affine function of the iteration, and the number of iterations is known. Exact, because an
// element that this thread does not write may be another one's. Loops with runtime calls in them are never
// left: each segment saves what it writes itself.

#include "undo/undo.h"
#include "segments/additions.h"
#include "memory/affine.h"
#include "segments/sites.h"
#include "undo/waits.h"
#include "undo/versions.h"
#include "segments/tables.h"
#include "memory/summary.h"
#include "ssa.h"
#include "cfgloop.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-phinodes.h"
#include "tree-ssa.h"
#include "tree-ssa-loop-ivopts.h"
#include <algorithm>
#include <utility>
#include <tuple>

namespace promp {

Undo::Undo (function *fn, Memory &memory, const std::vector<gimple *> &calls, bool tells, tree word)
  : fn_ (fn), memory_ (memory), calls_ (calls), tells_ (tells), word_ (word)
{
  calculate_dominance_info (CDI_DOMINATORS);
}

void Undo::want (const Memory::Item &write, gimple *cover, unsigned cover_place, bool sure,
                 const std::vector<Memory::Item> &meets, bool once)
{
  if (cover && !is_gimple_call (cover))
    fills_[cover] = cover_place;
  Wish &w = wanted_.insert ({ write.stmt, { write.place, cover, sure, once, {} } }).first->second;
  if (w.cover != cover)
    w.cover = nullptr;
  w.sure = w.sure && sure;
  w.adds = write.flags & ACCESS_ADDS;
  w.once = w.once && once;
  for (const Memory::Item &r : meets)
    {
      auto same = [&] (const Memory::Item &x) { return x.stmt == r.stmt && x.place == r.place; };
      if (w.meets.size () <= TOO_MANY_READS && std::none_of (w.meets.begin (), w.meets.end (), same))
        w.meets.push_back (r);
    }
}

void Undo::want_if (const Memory::Item &write, unsigned bits)
{
  Wish &w = wanted_.insert ({ write.stmt, { write.place, nullptr, true, false, {} } }).first->second;
  w.several = w.several || w.place != write.place;
  w.bits |= bits;
}

/// Is one of these bits of the word set? Computed in front of loop `l`, once for all that asks it there, or
/// (null) where it is used.
tree Undo::is_set (unsigned bits, class loop *l)
{
  tree value = state_of_site (build_fold_addr_expr (word_)), zero = build_zero_cst (unsigned_type_node);
  auto test = [&] (tree loaded) {
    tree mask = build_int_cst (unsigned_type_node, bits);
    tree those = fold_build2 (BIT_AND_EXPR, unsigned_type_node, loaded, mask);
    return build2 (NE_EXPR, boolean_type_node, those, zero);
  };
  if (!l)
    return test (value);
  Word &w = words_.insert ({ l->num, { l, NULL_TREE, nullptr, {} } }).first->second;
  if (!w.loaded)
    {
      w.loaded = make_ssa_name (unsigned_type_node);
      gimple_seq_add_stmt (&w.seq, gimple_build_assign (w.loaded, value));
    }
  tree &known = w.tests[bits];
  if (!known)
    {
      gimple_seq more = nullptr;
      known = force_gimple_operand (test (w.loaded), &more, true, NULL_TREE);
      gimple_seq_add_seq (&w.seq, more);
    }
  return known;
}

class loop *Undo::outermost (gimple *stmt) const
{
  class loop *found = nullptr;
  for (class loop *l = gimple_bb (stmt)->loop_father; loop_outer (l) && !has_call (l); l = loop_outer (l))
    found = l;
  return found;
}

/// Where an access can be, computed once for all that ask it. Null: that is not known.
const Extent *Undo::Places::of (const Memory::Item &access, const Memory &memory)
{
  auto known = all.insert ({ { access.place, gimple_bb (access.stmt)->index }, { false, {} } });
  auto &[is_known, where] = known.first->second;
  if (known.second)
    is_known = extents.of (access, memory, &where);
  return is_known ? &where : nullptr;
}

/// A condition, to be computed in front of the outermost loop around the write: may it meet a read of its
/// segment? Null: that is not known before it happens.
tree Undo::meets (gimple *stmt, const Wish &w)
{
  class loop *l = outermost (stmt);
  if (!l || !w.once || w.meets.size () > TOO_MANY_READS)
    return NULL_TREE;
  for (const Memory::Item &r : w.meets)
    if (r.place == w.place)
      return NULL_TREE;
  Places &p = found_.try_emplace (l->num, l).first->second;
  const Extent *written = p.of ({ stmt, w.place, ACCESS_WRITES }, memory_);
  for (const Memory::Item &r : w.meets)
    if (!written || !p.of (r, memory_))
      return NULL_TREE;
  tree any = boolean_false_node;
  for (const Memory::Item &r : w.meets)
    any = p.extents.emit (fold_build2 (BIT_IOR_EXPR, boolean_type_node, any,
                                       p.extents.may_meet (*written, *p.of (r, memory_))));
  p.used = true;
  return any;
}

bool Undo::is_too_expensive (gimple *stmt) const
{
  auto p = plans_.find (stmt);
  return p != plans_.end () && p->second.expensive;
}

bool Undo::can (gimple *stmt) const
{
  auto p = plans_.find (stmt);
  return p != plans_.end () && p->second.possible;
}

bool Undo::always_saves (gimple *stmt) const
{
  auto p = plans_.find (stmt);
  return p != plans_.end () && p->second.possible && !p->second.refuse && !p->second.meets
         && !p->second.cover;
}

bool Undo::saves_behind (gimple *stmt, basic_block start) const
{
  auto p = plans_.find (stmt);
  class loop *l = outermost (stmt);
  if (!l || !flow_bb_inside_loop_p (l, start))
    return true;
  // What is saved in front of the statement, or of a loop that `start` is not in, is saved on the way there.
  // What cannot be saved is found out, and told, in front of the outermost loop only.
  return p != plans_.end () && p->second.possible && !p->second.refuse
         && (!p->second.around || !flow_bb_inside_loop_p (p->second.around, start));
}

bool Undo::has_call (class loop *l) const
{
  for (gimple *c : calls_)
    if (flow_bb_inside_loop_p (l, gimple_bb (c)))
      return true;
  return false;
}

/// Is the pointer used by this function and by functions that only read and write through it?
static bool stays_here (tree p, int depth = 0)
{
  if (depth > 8)
    return false;
  imm_use_iterator it;
  use_operand_p use;
  FOR_EACH_IMM_USE_FAST (use, it, p)
    {
      gimple *s = USE_STMT (use);
      if (is_gimple_debug (s) || gimple_code (s) == GIMPLE_COND || gimple_call_builtin_p (s, BUILT_IN_FREE))
        continue;
      if (gassign *a = dyn_cast<gassign *> (s))
        {
          tree lhs = gimple_assign_lhs (a);
          if (gimple_assign_rhs1 (a) == p && TREE_CODE (lhs) != SSA_NAME)
            return false; // stored
          if (TREE_CODE (lhs) == SSA_NAME && POINTER_TYPE_P (TREE_TYPE (lhs)) && !gimple_assign_load_p (a)
              && !stays_here (lhs, depth + 1))
            return false;
          continue;
        }
      gcall *c = dyn_cast<gcall *> (s);
      const Summary *f = c ? summary_of (c) : nullptr;
      if (!f || f->runtime || !f->effect.empty ())
        return false;
      for (int w : f->writes)
        if (w >= BEHIND || argument_of (c, w) != p)
          return false; // it might be stored there
    }
  return true;
}

/// Is what is written (part of) a block that this function allocated for itself? It can be saved whole,
/// outside of all loops.
bool Undo::own_block (gimple *stmt, unsigned place, Plan &plan) const
{
  tree p = memory_.key (memory_.places ()[place].object);
  gimple *def = p && TREE_CODE (p) == SSA_NAME ? SSA_NAME_DEF_STMT (p) : nullptr;
  if (!def || !gimple_call_builtin_p (def, BUILT_IN_MALLOC) || !stays_here (p))
    return false;
  plan.start = p;
  plan.size = fold_convert (sizetype, gimple_call_arg (def, 0));
  for (class loop *l = gimple_bb (stmt)->loop_father; loop_outer (l) && !has_call (l); l = loop_outer (l))
    if (!flow_bb_inside_loop_p (l, gimple_bb (def)))
      plan.around = l;
    else
      break;
  return plan.possible = true;
}

Undo::Plan Undo::plan_for (gimple *stmt, unsigned place) const
{
  Plan plan;
  tree ref = memory_.expression (place);
  if (!ref)
    {
      // A block that a library function writes: its arguments say which.
      if (gimple_call_builtin_p (stmt, BUILT_IN_MEMCPY) || gimple_call_builtin_p (stmt, BUILT_IN_MEMMOVE)
          || gimple_call_builtin_p (stmt, BUILT_IN_MEMSET))
        {
          plan.possible = true;
          plan.start = gimple_call_arg (stmt, 0);
          plan.size = fold_convert (sizetype, gimple_call_arg (stmt, 2));
        }
      else
        own_block (stmt, place, plan);
      return plan;
    }
  if (own_block (stmt, place, plan) && plan.around)
    return plan; // once for all that is written to it
  return grid (stmt, place, 2);
}

Undo::Plan Undo::grid (gimple *stmt, unsigned place, unsigned dimensions) const
{
  Plan plan;
  tree ref = memory_.expression (place);
  if (!ref)
    return plan;
  plan.start = address (unshare_expr (ref), &plan.size);
  if (!plan.start)
    return plan;
  plan.possible = true;
  basic_block bb = gimple_bb (stmt);
  class loop *l = bb->loop_father;
  for (; loop_outer (l) && plan.dimensions.size () < dimensions; l = loop_outer (l))
    {
      if (has_call (l) || leaves_early (l))
        break;
      tree count = executions (l, bb);
      tree first, step;
      if (!count || !affine (l, plan.start, &first, &step))
        break;
      bool fixed = true;
      for (const Dimension &d : plan.dimensions)
        fixed = fixed && expr_invariant_in_loop_p (l, d.count) && expr_invariant_in_loop_p (l, d.stride);
      if (!fixed)
        break;
      plan.dimensions.push_back ({ count, step });
      plan.start = first;
      plan.around = l;
      bb = loop_preheader_edge (l)->src;
    }
  return plan;
}

class loop *Undo::filling_loop (gimple *stmt, unsigned place)
{
  if (!is_gimple_assign (stmt))
    return nullptr;
  auto known = filling_.insert ({ { stmt, place }, nullptr });
  if (!known.second)
    return known.first->second;
  Plan p = grid (stmt, place, 1);
  bool fills = p.possible && p.dimensions.size () == 1 && operand_equal_p (p.dimensions[0].stride, p.size, 0);
  return known.first->second = fills ? p.around : nullptr;
}

void Undo::plan ()
{
  for (auto &w : wanted_)
    {
      if (w.second.adds)
        {
          // Noted where it is. Only the version of a loop that is for that may do it.
          class loop *l = outermost (w.first);
          plans_[w.first].possible = plans_[w.first].adds = !tells_ && l && can_have_versions (l);
          continue;
        }
      Plan &p = plans_[w.first] = w.second.several ? Plan () : plan_for (w.first, w.second.place);
      if (w.second.bits)
        p.meets = is_set (w.second.bits, outermost (w.first));
      else if (!w.second.cover)
        p.meets = meets (w.first, w.second);
      if (p.possible && !p.around)
        one_by_one (w.first, w.second, p);
      if (!p.possible && p.meets)
        {
          p.possible = p.refuse = true;
          p.expensive = false;
        }
    }
  if (tells_)
    return;
  merge ();
  line_up ();
}

/// In front of the write itself. Whether that is worth its price the runtime decides, if the loop can have
/// another version.
void Undo::one_by_one (gimple *stmt, const Wish &w, Plan &p) const
{
  class loop *l = outermost (stmt);
  p.cover = w.cover;
  p.sure = w.sure;
  bool slows = tells_ ? l && l != gimple_bb (stmt)->loop_father
                      : l && !can_have_versions (l) && !can_have_flag (l);
  p.expensive = slows && !p.cover && !options.elements;
  p.possible = !p.expensive;
}

tree holds (tree t)
{
  return fold_build2 (NE_EXPR, boolean_type_node, t, build_zero_cst (TREE_TYPE (t)));
}

/// A place on `e` that is only reached if the condition holds, which is seldom.
gimple_stmt_iterator only_if (edge e, tree condition)
{
  basic_block join = create_empty_if_region_on_edge (e, condition)->src;
  basic_block test = get_immediate_dominator (CDI_DOMINATORS, join);
  edge yes = EDGE_SUCC (test, 0)->flags & EDGE_TRUE_VALUE ? EDGE_SUCC (test, 0) : EDGE_SUCC (test, 1);
  edge no = EDGE_SUCC (test, 0) == yes ? EDGE_SUCC (test, 1) : EDGE_SUCC (test, 0);
  yes->probability = profile_probability::very_unlikely ();
  no->probability = yes->probability.invert ();
  yes->dest->count = test->count.apply_probability (yes->probability);
  return gsi_last_bb (yes->dest);
}

/// The edge that leads to `stmt`.
edge in_front_of (gimple *stmt)
{
  gimple_stmt_iterator i = gsi_for_stmt (stmt);
  gsi_prev (&i);
  basic_block bb = gimple_bb (stmt);
  return gsi_end_p (i) ? split_block_after_labels (bb) : split_block (bb, gsi_stmt (i));
}

gimple *start_of_update (gimple *stmt)
{
  gimple *start = stmt;
  gimple_stmt_iterator i = gsi_for_stmt (stmt);
  for (gsi_prev (&i); is_gimple_assign (stmt) && !gsi_end_p (i); gsi_prev (&i))
    {
      gimple *s = gsi_stmt (i);
      if (!is_gimple_debug (s) && (!is_gimple_assign (s) || gimple_vdef (s)))
        break;
      if (gimple_assign_load_p (s) && operand_equal_p (gimple_assign_rhs1 (s), gimple_assign_lhs (stmt), 0))
        start = s;
    }
  return start;
}

} // namespace promp
