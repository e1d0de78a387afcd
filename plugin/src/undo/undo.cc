// Saving old values before they are overwritten.
//
// A write's old values are saved by promp_undo(start, size, count0, stride0, count1, stride1): elements of `size` bytes on a grid
// of at most two dimensions. The call stands in front of the write, or, better, in front of the outermost loop for which the
// grid is exact: the write is executed in every iteration, its address is an affine function of the iteration, and the
// number of iterations is known. Exact, because an element that this thread does not write may be another one's. Loops with runtime
// calls in them are never left: each segment saves what it writes itself.

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

void Undo::want (const Memory::Item &write, gimple *cover, unsigned cover_place, bool sure, const std::vector<Memory::Item> &meets, bool once)
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
    if (w.meets.size () <= TOO_MANY_READS
        && std::none_of (w.meets.begin (), w.meets.end (), [&] (const Memory::Item &x) { return x.stmt == r.stmt && x.place == r.place; }))
      w.meets.push_back (r);
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
    return build2 (NE_EXPR, boolean_type_node, fold_build2 (BIT_AND_EXPR, unsigned_type_node, loaded, mask), zero);
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

/// A condition, to be computed in front of the outermost loop around the write: may it meet a read of its segment? Null: that is not known
/// before it happens.
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

/// Is what is written (part of) a block that this function allocated for itself? It can be saved whole, outside of all loops.
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
  for (class loop *l = bb->loop_father; loop_outer (l) && plan.dimensions.size () < dimensions; l = loop_outer (l))
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

/// First byte and length of what `cover` has written; computed in front of a filling loop.
void Undo::block (gimple *cover, tree *base, tree *length)
{
  if (is_gimple_call (cover))
    {
      *base = gimple_call_arg (cover, 0);
      *length = gimple_call_arg (cover, 2);
      return;
    }
  auto known = blocks_.find (cover);
  if (known == blocks_.end ())
    {
      Plan p = grid (cover, fills_[cover], 1);
      gimple_seq seq = nullptr, more = nullptr;
      tree b = force_gimple_operand (fold_convert (sizetype, unshare_expr (p.start)), &seq, true, NULL_TREE);
      tree n = fold_build2 (MULT_EXPR, sizetype, fold_convert (sizetype, unshare_expr (p.dimensions[0].count)), p.size);
      n = force_gimple_operand (n, &more, true, NULL_TREE);
      gimple_seq_add_seq (&seq, more);
      if (seq)
        gsi_insert_seq_on_edge_immediate (loop_preheader_edge (p.around), seq);
      known = blocks_.insert ({ cover, { b, n } }).first;
    }
  *base = known->second.first;
  *length = known->second.second;
}

/// Inserts copies of `seq` wherever a segment starts.
void Undo::when_segments_start (gimple_seq seq)
{
  gsi_insert_seq_on_edge_immediate (single_succ_edge (ENTRY_BLOCK_PTR_FOR_FN (fn_)), gimple_seq_copy (seq));
  basic_block bb;
  std::vector<gimple *> starts;
  FOR_EACH_BB_FN (bb, fn_)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      if (gcall *c = dyn_cast<gcall *> (gsi_stmt (i)))
        {
          const Summary *f = summary_of (c);
          if (is_save_point (c) || (f && f->runtime))
            starts.push_back (c);
        }
  for (gimple *c : starts)
    {
      gimple_stmt_iterator i = gsi_for_stmt (c);
      if (!stmt_ends_bb_p (c))
        gsi_insert_seq_after (&i, gimple_seq_copy (seq), GSI_SAME_STMT);
      else if (edge e = find_fallthru_edge (gimple_bb (c)->succs))
        gsi_insert_seq_on_edge_immediate (e, gimple_seq_copy (seq));
    }
}

/// First byte and length of what `cover` has written last in the segment; the length is 0 if it has not been executed in it.
void Undo::last_block (gimple *cover, tree *base, tree *length)
{
  auto known = last_blocks_.find (cover);
  if (known == last_blocks_.end ())
    {
      tree b, n, base_now = create_tmp_reg (sizetype, "promp_block"), length_now = create_tmp_reg (sizetype, "promp_length");
      block (cover, &b, &n);
      gimple_seq seq = nullptr, start = nullptr;
      auto assign = [] (gimple_seq *to, tree variable, tree value) {
        gimple_seq before = nullptr;
        value = force_gimple_operand (fold_convert (sizetype, value), &before, true, NULL_TREE);
        gimple_seq_add_seq (to, before);
        gimple_seq_add_stmt (to, gimple_build_assign (variable, value));
      };
      assign (&seq, base_now, b);
      assign (&seq, length_now, n);
      assign (&start, length_now, size_zero_node);
      if (is_gimple_call (cover))
        {
          gimple_stmt_iterator i = gsi_for_stmt (cover);
          gsi_insert_seq_after (&i, seq, GSI_SAME_STMT);
        }
      else
        gsi_insert_seq_on_edge_immediate (loop_preheader_edge (gimple_bb (cover)->loop_father), seq);
      when_segments_start (start);
      known = last_blocks_.insert ({ cover, { base_now, length_now } }).first;
    }
  *base = known->second.first;
  *length = known->second.second;
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
  return gsi_end_p (i) ? split_block_after_labels (gimple_bb (stmt)) : split_block (gimple_bb (stmt), gsi_stmt (i));
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

/// A place in front of `stmt` that is only reached if what it writes lies outside of the block that `p.cover` has written.
gimple_stmt_iterator Undo::outside (const Plan &p, gimple *stmt)
{
  tree base, length;
  if (p.sure)
    block (p.cover, &base, &length);
  else
    last_block (p.cover, &base, &length);
  gimple_stmt_iterator i = gsi_for_stmt (stmt);
  gimple_seq seq = nullptr, more = nullptr;
  tree start = force_gimple_operand (fold_convert (sizetype, unshare_expr (p.start)), &seq, true, NULL_TREE);
  tree from = fold_build2 (MINUS_EXPR, sizetype, start, fold_convert (sizetype, base));
  from = force_gimple_operand (from, &more, true, NULL_TREE);
  gimple_seq_add_seq (&seq, more);
  gsi_insert_seq_before (&i, seq, GSI_SAME_STMT);
  return only_if (in_front_of (stmt), fold_build2 (GE_EXPR, boolean_type_node, from, fold_convert (sizetype, length)));
}

/// The call that saves what `stmt` writes, with what it needs.
gimple_seq Undo::saving (gimple *stmt, const Plan &p) const
{
  tree one = build_int_cst (long_integer_type_node, 1), zero = build_int_cst (long_integer_type_node, 0);
  std::vector<tree> args = { p.start, fold_convert (long_integer_type_node, p.size) };
  if (p.refuse)
    args = { null_pointer_node, TYPE_MAX_VALUE (long_integer_type_node) }; // more than a log can hold
  for (unsigned i = 0; i < 2; i++)
    {
      bool has = i < p.dimensions.size () && !p.refuse;
      args.push_back (has ? fold_convert (long_integer_type_node, p.dimensions[i].count) : one);
      args.push_back (has ? fold_convert (long_integer_type_node, p.dimensions[i].stride) : zero);
    }
  gimple_seq seq = nullptr;
  vec<tree> v = vNULL;
  for (tree a : args)
    {
      gimple_seq s = nullptr;
      v.safe_push (force_gimple_operand (unshare_expr (a), &s, true, NULL_TREE));
      gimple_seq_add_seq (&seq, s);
    }
  gcall *call = gimple_build_call_vec (tells_ ? wrote_function () : undo_function (), v);
  v.release ();
  gimple_set_location (call, gimple_location (stmt));
  gimple_seq_add_stmt (&seq, call);
  return seq;
}

/// A place at `i`, in a function that saves for itself, that is only reached if the thread is in a region.
static gimple_stmt_iterator if_in_region (gimple_stmt_iterator i)
{
  gimple_seq seq = nullptr;
  tree condition = is_in_region (&seq);
  gsi_insert_seq_before (&i, seq, GSI_SAME_STMT);
  return only_if (single_succ_edge (gsi_bb (i)), condition);
}

/// The calls that save it, with all that is saved together with it.
gimple_seq Undo::saving_line (gimple *stmt, const Plan &p) const
{
  auto line = lines_.find (stmt);
  if (line == lines_.end ())
    return saving (stmt, p);
  gimple_seq all = nullptr;
  for (auto &piece : line->second)
    {
      Plan q = p;
      std::tie (q.start, q.size) = piece;
      gimple_seq_add_seq (&all, saving (stmt, q));
    }
  return all;
}

/// In front of what cannot be saved, or the loop around it: if the word says that it is needed, the work is
/// not executed again.
void Undo::put_mark (gimple *stmt, const Plan &p)
{
  class loop *l = outermost (stmt);
  std::string what = "writes " + memory_.name (memory_.places ()[wanted_.at (stmt).place].object)
                     + ", whose old values cannot be saved";
  gcall *mark = ask (new_site (SITE_OPAQUE, gimple_location (stmt), what), NULL_TREE);
  edge e = l ? loop_preheader_edge (l) : in_front_of (stmt);
  gimple_seq test = nullptr;
  tree condition = force_gimple_operand (unshare_expr (p.meets), &test, true, NULL_TREE);
  if (test)
    {
      basic_block bb = gsi_insert_seq_on_edge_immediate (e, test);
      e = l ? loop_preheader_edge (l) : bb ? single_succ_edge (bb) : in_front_of (stmt);
    }
  gimple_stmt_iterator i = only_if (e, holds (condition));
  if (word_)
    i = if_in_region (i);
  gsi_insert_before (&i, mark, GSI_SAME_STMT);
}

/// In front of each loop that saves: does anything need it, and does the runtime want it?
void Undo::ask_in_front ()
{
  std::map<class loop *, unsigned> bits;
  for (auto &w : wanted_)
    if (const Plan &p = plans_[w.first]; p.possible && !p.refuse && w.second.bits)
      if (class loop *l = outermost (w.first))
        bits[l] |= w.second.bits;
  for (auto &b : bits)
    is_set (b.second, b.first);
  for (auto &w : words_)
    {
      gsi_insert_seq_on_edge_immediate (loop_preheader_edge (w.second.around), w.second.seq);
      w.second.seq = nullptr;
    }
  for (auto &f : found_)
    {
      if (f.second.used)
        gsi_insert_seq_on_edge_immediate (loop_preheader_edge (f.second.around), f.second.seq);
      else
        gimple_seq_discard (f.second.seq);
      f.second.seq = nullptr;
    }
  for (auto &w : wanted_)
    {
      Plan &p = plans_[w.first];
      class loop *l = p.possible ? outermost (w.first) : nullptr;
      if (!l)
        {
          if (p.refuse)
            put_mark (w.first, p);
          continue;
        }
      if (p.refuse && w.second.bits)
        {
          put_mark (w.first, p);
          continue;
        }
      if (p.refuse)
        {
          gimple_stmt_iterator i = only_if (loop_preheader_edge (l), holds (p.meets));
          gsi_insert_seq_before (&i, saving (w.first, p), GSI_SAME_STMT);
          continue;
        }
      auto known = std::find_if (asked_.begin (), asked_.end (),
                                 [&] (const Asked &a) { return a.around == l; });
      if (known == asked_.end ())
        known = asked_.insert (asked_.end (), { l, NULL_TREE, NULL_TREE, boolean_false_node, false,
                                                gimple_location (w.first), NULL_TREE });
      if (w.second.bits)
        known->any = is_set (bits[l], l);
      else
        known->any = p.meets ? fold_build2 (BIT_IOR_EXPR, boolean_type_node, known->any, p.meets)
                             : boolean_true_node;
      known->inside = known->inside || p.around != l;
    }
  for (Asked &a : asked_)
    {
      a.site = new_saving_site (a.where, "saving old values");
      tree answer = make_ssa_name (integer_type_node);
      gcall *call = ask (a.site, answer);
      edge in = loop_preheader_edge (a.around);
      if (integer_onep (a.any))
        {
          a.flag = answer;
          gsi_insert_on_edge_immediate (in, call);
          continue;
        }
      gimple_seq seq = nullptr;
      tree any = force_gimple_operand (unshare_expr (a.any), &seq, true, NULL_TREE);
      if (seq)
        gsi_insert_seq_on_edge_immediate (in, seq);
      gimple_stmt_iterator i = only_if (loop_preheader_edge (a.around), holds (any));
      if (word_)
        i = if_in_region (i);
      gsi_insert_before (&i, call, GSI_SAME_STMT);
      edge asked = single_succ_edge (gimple_bb (call));
      a.flag = answer;
      for (int conditions = word_ ? 2 : 1; conditions--; asked = single_succ_edge (asked->dest))
        {
          tree before = a.flag;
          edge e;
          edge_iterator ei;
          a.flag = make_ssa_name (integer_type_node);
          gphi *phi = create_phi_node (a.flag, asked->dest);
          FOR_EACH_EDGE (e, ei, asked->dest->preds)
            add_phi_arg (phi, e == asked ? before : integer_zero_node, e, UNKNOWN_LOCATION);
        }
    }
}

/// Of a function that saves for itself, outside of loops: a place at `i` that is only reached if the runtime
/// wants what `stmt` writes to be saved. In loops that has been asked in front of them.
gimple_stmt_iterator Undo::if_wanted (gimple_stmt_iterator i, gimple *stmt)
{
  if (!site_)
    site_ = new_saving_site (gimple_location (stmt), "saving old values");
  tree answer = make_ssa_name (integer_type_node);
  gcall *call = ask (site_, answer);
  i = if_in_region (i);
  gsi_insert_before (&i, call, GSI_SAME_STMT);
  return only_if (single_succ_edge (gimple_bb (call)), holds (answer));
}

/// The call that saves what `stmt` writes, in front of `p.around` or of the write itself, if `condition`
/// holds (null: always), and the flag `now` is set (null: there is none).
void Undo::insert (gimple *stmt, const Plan &p, tree condition, tree now)
{
  if (now && !p.cover)
    {
      // The flag first: it is not set where nothing is wanted.
      now = std::exchange (condition, holds (now));
    }
  gimple_seq seq = saving_line (stmt, p);
  class loop *l = p.around;
  if (l && !condition)
    {
      gsi_insert_seq_on_edge_immediate (loop_preheader_edge (l), seq);
      return;
    }
  gimple *start = start_of_update (stmt);
  gimple_stmt_iterator i;
  if (condition)
    {
      edge e = l ? loop_preheader_edge (l) : in_front_of (start);
      gimple_seq test = nullptr;
      condition = force_gimple_operand (unshare_expr (condition), &test, true, NULL_TREE);
      if (test)
        {
          basic_block bb = gsi_insert_seq_on_edge_immediate (e, test);
          e = l ? loop_preheader_edge (l) : bb ? single_succ_edge (bb) : in_front_of (start);
        }
      i = only_if (e, holds (condition));
      if (word_ && !outermost (stmt))
        i = if_wanted (i, stmt);
    }
  else
    i = p.cover ? outside (p, start) : gsi_for_stmt (start);
  if (now)
    i = only_if (single_succ_edge (gsi_bb (i)), holds (now));
  gsi_insert_seq_before (&i, seq, GSI_SAME_STMT);
}

/// The calls that save what these statements write, in front of loop `l`, if `condition` holds (null: always).
void Undo::save_in_front (class loop *l, const std::vector<gimple *> &stmts, tree condition)
{
  if (!condition)
    {
      for (gimple *stmt : stmts)
        gsi_insert_seq_on_edge_immediate (loop_preheader_edge (l), saving (stmt, plans_[stmt]));
      return;
    }
  gimple_seq test = nullptr;
  condition = force_gimple_operand (unshare_expr (condition), &test, true, NULL_TREE);
  if (test)
    gsi_insert_seq_on_edge_immediate (loop_preheader_edge (l), test);
  gimple_stmt_iterator i = only_if (loop_preheader_edge (l), holds (condition));
  for (gimple *stmt : stmts)
    gsi_insert_seq_before (&i, saving (stmt, plans_[stmt]), GSI_SAME_STMT);
}

/// Save points in a loop with a flag are only of use as long as it saves (see `strip`).
static void points_if (class loop *l, tree now)
{
  std::vector<gimple *> points;
  basic_block *bbs = get_loop_body (l);
  for (unsigned k = 0; k < l->num_nodes; k++)
    for (gimple_stmt_iterator i = gsi_start_bb (bbs[k]); !gsi_end_p (i); gsi_next (&i))
      if (!strcmp (callee_name (gsi_stmt (i)), "__promp_point"))
        points.push_back (gsi_stmt (i));
  free (bbs);
  for (gimple *point : points)
    {
      gimple_stmt_iterator to = only_if (in_front_of (point), holds (now)), from = gsi_for_stmt (point);
      gsi_move_to_bb_end (&from, gsi_bb (to));
    }
}

/// The smaller loops in one with a flag have versions without saving, as long as it does not change.
/// `now`: it in the iteration. The names that are used behind them are renewed at the end of the pass only: what
/// is saved in front of later loops, by the names of before, is put in until then.
static void copies_within (class loop *around, tree now)
{
  std::vector<class loop *> all;
  for (class loop *l = around->inner; l; l = l->next)
    all.push_back (l);
  for (class loop *l : all)
    if (!saves (l))
      continue;
    else if (can_have_versions (l, l->inner ? LARGE : INNERMOST_LARGE))
      strip (make_copy (l, now), false);
    else
      copies_within (l, now);
}

/// New names for what has been inserted. `asks`: in front of loops whose iterations wait for each other, too.
static void renew (function *fn, bool asks)
{
  mark_virtual_operands_for_renaming (fn);
  update_ssa (TODO_update_ssa);
  if (asks)
    ask_across ();
}

void Undo::insert ()
{
  if (!tells_)
    ask_in_front ();
  auto in_front = [&] (gimple *stmt, const Plan &p) { return p.around && p.around == outermost (stmt); };
  auto flag_of = [&] (class loop *l) {
    for (const Asked &a : asked_)
      if (l && a.around == l)
        return a.now;
    return NULL_TREE;
  };
  for (Asked &a : asked_)
    if (a.inside && !can_have_versions (a.around))
      a.now = make_flag (a.around, a.flag, a.site);
  std::set<std::pair<tree, class loop *>> blocks;
  std::vector<gimple *> front;
  for (auto &w : wanted_)
    {
      Plan &p = plans_[w.first];
      bool whole = p.around && p.dimensions.empty ();
      if (p.adds)
        {
          note_addition (w.first);
          continue;
        }
      if (!p.possible || p.refuse || p.merged || (whole && !blocks.insert ({ p.start, p.around }).second))
        continue;
      if (in_front (w.first, p))
        front.push_back (w.first);
      else
        insert (w.first, p, p.meets, flag_of (outermost (w.first)));
    }
  for (Asked &a : asked_)
    if (a.now)
      points_if (a.around, a.now);
  renew (fn_, !tells_ && !word_);
  for (Asked &a : asked_)
    if (a.now)
      {
        for (gphi_iterator i = gsi_start_phis (a.around->header); !gsi_end_p (i); gsi_next (&i))
          if (SSA_NAME_VAR (gimple_phi_result (i.phi ())) == a.now)
            {
              copies_within (a.around, gimple_phi_result (i.phi ()));
              break;
            }
      }
    else if (a.inside)
      strip (make_versions (a.around, a.flag, a.site), integer_onep (a.any));
  // What is saved in front of the same loop, under the same condition, stands together.
  struct Group
  {
    class loop *around;
    tree meets;
    std::vector<gimple *> stmts;
  };
  std::vector<Group> groups;
  for (gimple *stmt : front)
    {
      const Plan &p = plans_[stmt];
      auto known = std::find_if (groups.begin (), groups.end (), [&] (const Group &g) {
        return g.around == p.around && g.meets == p.meets;
      });
      if (known == groups.end ())
        known = groups.insert (groups.end (), { p.around, p.meets, {} });
      known->stmts.push_back (stmt);
    }
  for (const Group &g : groups)
    {
      tree condition = g.meets;
      for (Asked &a : asked_)
        if (a.around == g.around && (a.now || !a.inside))
          {
            tree wanted = holds (a.flag);
            condition = condition ? fold_build2 (BIT_AND_EXPR, boolean_type_node, condition, wanted) : wanted;
          }
      save_in_front (g.around, g.stmts, condition);
    }
}

} // namespace promp
