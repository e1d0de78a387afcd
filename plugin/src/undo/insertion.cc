// Where the calls that save go, and what is asked in front of them.

#include "undo/undo.h"
#include "segments/additions.h"
#include "memory/affine.h"
#include "segments/sites.h"
#include "undo/short_regions.h"
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

/// What is computed in front of loops: bits of the word, and where accesses can be.
void Undo::compute_in_front ()
{
  for (auto &b : bits_)
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
}

/// In front of what cannot be saved, or of loop `l` around it (null: none), the work is taken for such that
/// is not executed again, where that is needed.
void Undo::refuse (gimple *stmt, const Wish &w, const Plan &p, class loop *l)
{
  if (!l || w.bits)
    return put_mark (stmt, p);
  gimple_stmt_iterator i = only_if (loop_preheader_edge (l), holds (p.meets));
  gsi_insert_seq_before (&i, saving (stmt, p), GSI_SAME_STMT);
}

/// Loop `l` saves what `stmt` writes, by plan `p`.
void Undo::note_asked (gimple *stmt, const Wish &w, const Plan &p, class loop *l)
{
  auto known = std::find_if (asked_.begin (), asked_.end (), [&] (const Asked &a) { return a.around == l; });
  if (known == asked_.end ())
    known = asked_.insert (asked_.end (), { l, NULL_TREE, NULL_TREE, boolean_false_node, false,
                                            gimple_location (stmt), NULL_TREE });
  if (w.bits)
    known->any = is_set (bits_[l], l);
  else
    known->any = p.meets ? fold_build2 (BIT_IOR_EXPR, boolean_type_node, known->any, p.meets)
                         : boolean_true_node;
  known->inside = known->inside || p.around != l;
}

/// The question in front of a loop that saves.
void Undo::ask_for (Asked &a)
{
  a.site = new_saving_site (a.where, "saving old values");
  a.flag = make_ssa_name (integer_type_node);
  gcall *call = ask (a.site, a.flag);
  edge in = loop_preheader_edge (a.around);
  if (integer_onep (a.any))
    {
      gsi_insert_on_edge_immediate (in, call);
      return;
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

/// In front of each loop that saves: does anything need it, and does the runtime want it?
void Undo::ask_in_front ()
{
  for (auto &w : wanted_)
    if (const Plan &p = plans_[w.first]; p.possible && !p.refuse && w.second.bits)
      if (class loop *l = outermost (w.first))
        bits_[l] |= w.second.bits;
  compute_in_front ();
  for (auto &w : wanted_)
    {
      Plan &p = plans_[w.first];
      class loop *l = p.possible ? outermost (w.first) : nullptr;
      if (p.refuse)
        refuse (w.first, w.second, p, l);
      else if (l)
        note_asked (w.first, w.second, p, l);
    }
  for (Asked &a : asked_)
    ask_for (a);
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

/// The calls that save what these statements write, in front of loop `l`, if `condition` holds (null:
/// always).
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
/// `now`: it in the iteration. The names that are used behind them are renewed at the end of the pass only:
/// what is saved in front of later loops, by the names of before, is put in until then.
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

/// New names for what has been inserted. `asks`: in front of loops whose iterations wait for each other, too,
/// and of regions.
static void renew (function *fn, bool asks)
{
  mark_virtual_operands_for_renaming (fn);
  update_ssa (TODO_update_ssa);
  if (asks)
    {
      ask_across ();
      ask_of_regions ();
    }
}

/// The flag (versions.h) of the loop; null: it has none.
tree Undo::flag_of (class loop *l) const
{
  for (const Asked &a : asked_)
    if (l && a.around == l)
      return a.now;
  return NULL_TREE;
}

/// What is saved inside of the outermost loops, or without any. Returns what is saved in front of them.
std::vector<gimple *> Undo::save_inside ()
{
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
      if (p.around && p.around == outermost (w.first))
        front.push_back (w.first);
      else
        insert (w.first, p, p.meets, flag_of (outermost (w.first)));
    }
  return front;
}

/// Loops that save inside get their versions without.
void Undo::make_versions_without ()
{
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
}

/// What is saved in front of the same loop, under the same condition, stands together.
void Undo::save_groups (const std::vector<gimple *> &front)
{
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

void Undo::insert ()
{
  if (!tells_)
    ask_in_front ();
  for (Asked &a : asked_)
    if (a.inside && !can_have_versions (a.around))
      a.now = make_flag (a.around, a.flag, a.site);
  std::vector<gimple *> front = save_inside ();
  for (Asked &a : asked_)
    if (a.now)
      points_if (a.around, a.now);
  renew (fn_, !tells_ && !word_);
  make_versions_without ();
  save_groups (front);
}

} // namespace promp
