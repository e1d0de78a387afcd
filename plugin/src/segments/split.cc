// What cannot be executed twice counts when it is executed. So does what ends the program, from its beginning
// on.
//
// In front of it stands a *mark*, a call of the runtime that notes that the work since the last save point
// will not be executed again (sites.cc), and behind it a save point. So the segment is split there: a
// failure before the mark or behind the save point is recovered, and one between them refused. What is
// never executed, an error message and exit, does no harm.
//
//     mark (site); printf (...); save point (site)
//
// *Output in functions without runtime calls* has a mark in front of it, and sets a variable of the unit;
// if that is set, there is a save point behind the function's call. So have calls that only end by an
// exception (`throw`, the library's functions for errors).
//
// *Returns* of functions with runtime calls, to callers that are not known, or do such things, have a mark in
// front of them, and the calls that are known a save point behind them.
//
// *Calls of functions of other units*, or through pointers that may lead to several, have marks that are only
// executed if the runtime finds, when the program is loaded, that the function cannot be executed again, or
// not with its caller: it sets a variable, one for each such function and unit. So are they if a pointer
// leads elsewhere. Marks in functions without runtime calls work likewise.
//
// *Fences, volatile and atomic accesses, assembly* are split off if they stand in a loop that waits
// (nothing but these is in it), or beside loops or calls. In small loops a save point for each would cost
// more than it could ever give: there they make the whole segment opaque. Neighbours in a block are split
// off together.

#include "segments/split.h"
#include "segments/split_points.h"
#include "segments/additions.h"
#include "memory/memory.h"
#include "segments/sites.h"
#include "memory/summary.h"
#include "segments/tables.h"
#include "undo/undo.h"
#include "segments/join.h"
#include "memory/outside.h"
#include "segments/segment.h"
#include "ssa.h"
#include "tree-ssa-alias.h"
#include "tree-dfa.h"
#include "tree-eh.h"
#include "cfgloop.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "stringpool.h"
#include "cgraph.h"
#include "fold-const.h"
#include <map>
#include <vector>

namespace promp {
namespace {

/// More of them in one function are not split off.
const size_t TOO_MANY = 200;

/// A word in memory that the program's code only reads, or sets.
tree new_word (const std::string &name)
{
  tree v = build_decl (UNKNOWN_LOCATION, VAR_DECL, get_identifier (name.c_str ()), unsigned_type_node);
  TREE_STATIC (v) = TREE_USED (v) = TREE_ADDRESSABLE (v) = 1;
  DECL_ARTIFICIAL (v) = DECL_IGNORED_P (v) = DECL_PRESERVE_P (v) = 1;
  varpool_node::finalize_decl (v);
  keep (v);
  return v;
}

/// Set when output in a function of this unit has been marked.
tree unit_word ()
{
  static tree v;
  return v ? v : v = new_word ("promp_marked.0");
}

std::map<tree, tree> words;

/// The words of functions of other units; made where calls of them are.
tree make_word (tree callee)
{
  auto known = words.find (callee);
  if (known != words.end ())
    return known->second;
  keep (callee);
  return words[callee] = new_word ("promp_word." + std::to_string (words.size ()));
}

tree value (tree word) { return state_of_site (build_fold_addr_expr (word)); }

tree site_for (const SplitPoint &f)
{
  return new_site (f.waits ? SITE_WAITS : SITE_OPAQUE, gimple_location (f.stmt), f.what);
}

gcall *mark_for (const SplitPoint &f, tree site)
{
  gcall *m = ask (site, NULL_TREE);
  gimple_set_location (m, gimple_location (f.stmt));
  return m;
}

/// The edge behind `stmt` (in its block, or to the next one); null: nothing comes back from it.
edge behind (gimple *stmt)
{
  return stmt_ends_bb_p (stmt) ? find_fallthru_edge (gimple_bb (stmt)->succs)
                               : split_block (gimple_bb (stmt), stmt);
}

tree is_set (tree v)
{
  return build2 (NE_EXPR, boolean_type_node, v, build_zero_cst (TREE_TYPE (v)));
}

bool always (SplitPoint::Kind k) { return k <= SplitPoint::SIGNAL; }

/// Is it a fence, or a read in a loop that waits?
bool repeats_by_itself (const SplitPoint &f)
{
  if (stmt_ends_bb_p (f.stmt))
    return false;
  bool reads = is_gimple_call (f.stmt) ? f.what[0] == 'r' : gimple_assign_load_p (f.stmt);
  return f.kind == SplitPoint::FENCE || (f.kind == SplitPoint::SIGNAL && reads && f.waits);
}

/// The save point behind `f`, the last of a group.
gcall *point_for (const SplitPoint &f, tree site)
{
  gcall *point = point_call (site);
  gimple_set_location (point, gimple_location (f.stmt));
  return point;
}

void put_behind (gimple *stmt, gcall *point)
{
  gimple_stmt_iterator i = gsi_for_stmt (stmt);
  if (!stmt_ends_bb_p (stmt))
    gsi_insert_after (&i, point, GSI_SAME_STMT);
  else if (edge e = behind (stmt))
    gsi_insert_on_edge_immediate (e, point);
}

/// A call that ends the program: what it does before that is done once. Or a return. Nothing comes to a save
/// point of this function behind it.
gcall *mark_last (const SplitPoint &f)
{
  gcall *mark = mark_for (f, site_for (f));
  gimple_stmt_iterator i = gsi_for_stmt (f.stmt);
  gsi_insert_before (&i, mark, GSI_SAME_STMT);
  return mark;
}

/// Marks in front of returns, where what follows in callers must not be executed again with the work here.
void mark_returns (function *fn, Split &out)
{
  std::string what = marked_return (fn);
  edge e;
  edge_iterator ei;
  if (!what.empty ())
    FOR_EACH_EDGE (e, ei, EXIT_BLOCK_PTR_FOR_FN (fn)->preds)
      if (gimple *last = last_stmt (e->src); last && gimple_code (last) == GIMPLE_RETURN)
        out.marks.insert ({ mark_last ({ last, SplitPoint::OUTPUT, what, false }), what });
}

class Splitter
{
public:
  Splitter (function *fn, bool segments) : fn_ (fn), segments_ (segments) {}

  Split run ()
  {
    // The program's main function is never executed in a region.
    if (segments_ && MAIN_NAME_P (DECL_NAME (fn_->decl)))
      return {};
    if (segments_)
      out_.additions = additions_of (fn_);
    SplitPoints points (fn_, out_.additions);
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        points.look (gsi_stmt (i));
    found_ = points.found;
    for (gimple *call : points.last)
      {
        SplitPoint f = { call, SplitPoint::OUTPUT, std::string ("calls ") + callee_name (call), false };
        gcall *mark = mark_last (f);
        if (segments_)
          out_.marks.insert ({ mark, f.what });
      }
    if (segments_)
      mark_returns (fn_, out_);
    if (segments_ && found_.size () > TOO_MANY)
      return out_;
    for (size_t i = 0; i < found_.size (); i++)
      if (segments_)
        i = group (i);
      else if (found_[i].kind == SplitPoint::OUTPUT || found_[i].kind == SplitPoint::FOREIGN)
        alone (found_[i]);
    out_.done = true;
    return out_;
  }

private:
  gimple *ours (gimple *g)
  {
    out_.own.insert (g);
    return g;
  }

  /// Loads `word` in front of `stmt`.
  tree load_in_front (gimple *stmt, tree word)
  {
    tree v = make_ssa_name (unsigned_type_node);
    gimple_stmt_iterator i = gsi_for_stmt (stmt);
    gsi_insert_before (&i, ours (gimple_build_assign (v, value (word))), GSI_SAME_STMT);
    return v;
  }

  /// The bits of both words, in front of `stmt`.
  tree either (gimple *stmt, tree a, tree b)
  {
    tree both = make_ssa_name (unsigned_type_node);
    gimple_stmt_iterator i = gsi_for_stmt (stmt);
    gsi_insert_before (&i, ours (gimple_build_assign (both, BIT_IOR_EXPR, a, b)), GSI_SAME_STMT);
    return both;
  }

  /// The word of the function that is called, with those of what it calls in its turn (qsort); through a
  /// pointer, 1 for one of which nothing is known.
  tree word_at (gcall *call)
  {
    const bool one = target_of (call);
    tree v = one ? NULL_TREE : build_one_cst (unsigned_type_node), p = gimple_call_fn (call);
    gimple_stmt_iterator i = gsi_for_stmt (call);
    for (tree target : foreign_targets (call))
      {
        tree known = load_in_front (call, make_word (target));
        if (one)
          {
            v = v ? either (call, v, known) : known;
            continue;
          }
        tree is = make_ssa_name (boolean_type_node), next = make_ssa_name (unsigned_type_node);
        tree at = build1 (ADDR_EXPR, TREE_TYPE (p), target);
        gsi_insert_before (&i, ours (gimple_build_assign (is, EQ_EXPR, p, at)), GSI_SAME_STMT);
        gsi_insert_before (&i, ours (gimple_build_assign (next, COND_EXPR, is, known, v)), GSI_SAME_STMT);
        v = next;
      }
    return v;
  }

  /// Puts `call` in front of the call of another unit's function, if its word says so; the word's value.
  tree guard (const SplitPoint &f, gcall *call)
  {
    tree v = word_at (as_a<gcall *> (f.stmt));
    tree bit = make_ssa_name (unsigned_type_node);
    gimple_stmt_iterator i = gsi_for_stmt (f.stmt);
    gimple *test = gimple_build_assign (bit, BIT_AND_EXPR, v, build_one_cst (unsigned_type_node));
    gsi_insert_before (&i, ours (test), GSI_SAME_STMT);
    i = only_if (in_front_of (f.stmt), is_set (bit));
    gsi_insert_before (&i, ours (call), GSI_SAME_STMT);
    return v;
  }

  /// In a function without segments: a mark, and the unit's word.
  void alone (const SplitPoint &f)
  {
    gcall *mark = mark_for (f, site_for (f));
    if (f.kind == SplitPoint::FOREIGN)
      guard (f, mark);
    else
      {
        gimple_stmt_iterator i = gsi_for_stmt (f.stmt);
        gsi_insert_before (&i, mark, GSI_SAME_STMT);
      }
    gimple_stmt_iterator i = gsi_for_stmt (mark);
    gimple *set = gimple_build_assign (value (unit_word ()), build_one_cst (unsigned_type_node));
    gsi_insert_before (&i, set, GSI_SAME_STMT);
  }

  /// Splits off the one at `i`, and those behind it in the same block that go with it; the last one.
  size_t group (size_t i)
  {
    if (found_[i].kind == SplitPoint::RETURNED)
      put_behind (found_[i].stmt, point_for (found_[i], site_for (found_[i])));
    if (found_[i].kind >= SplitPoint::RETURNED)
      return i;
    size_t last = i;
    basic_block bb = gimple_bb (found_[i].stmt);
    auto goes_on = [&] (size_t k) {
      return k < found_.size () && gimple_bb (found_[k].stmt) == bb && !stmt_ends_bb_p (found_[k - 1].stmt)
             && found_[k].kind < SplitPoint::RETURNED && always (found_[k].kind) == always (found_[i].kind)
             && (always (found_[k].kind) || found_[k].kind == found_[i].kind);
    };
    while (found_[i].kind != SplitPoint::MARKED && goes_on (last + 1))
      last++;
    if (always (found_[i].kind))
      split_off (i, last);
    else
      perhaps (i, last);
    return last;
  }

  /// Nothing but fences, or reads in a loop that waits. A fence is no reason for a mark: what was written
  /// before it can be seen by others before it, too (but see segments.cc). Nor is a read, if a save point
  /// follows before its value is used.
  bool repeats (size_t first, size_t last)
  {
    bool fences = true;
    for (size_t k = first; k <= last; k++)
      {
        if (!repeats_by_itself (found_[k]))
          return false;
        fences = fences && found_[k].kind == SplitPoint::FENCE;
      }
    for (size_t k = first; k <= last; k++)
      {
        ours (found_[k].stmt);
        if (found_[k].kind == SplitPoint::FENCE)
          out_.fences.insert (found_[k].stmt);
      }
    if (!fences)
      {
        gcall *point = point_call (site_for (found_[last]));
        gimple_stmt_iterator i = gsi_for_stmt (found_[last].stmt);
        gsi_insert_after (&i, point, GSI_SAME_STMT);
        out_.signals.insert (point);
      }
    return true;
  }

  void split_off (size_t first, size_t last)
  {
    SplitPoint &f = found_[first];
    if (repeats (first, last))
      return;
    bool fence = false, signal = false;
    for (size_t k = first; k <= last; k++)
      {
        fence = fence || found_[k].kind == SplitPoint::FENCE;
        signal = signal || found_[k].kind == SplitPoint::SIGNAL;
        f.waits = f.waits || found_[k].waits;
      }
    tree site = site_for (f);
    gcall *mark = mark_for (f, site), *point = point_for (found_[last], site);
    gimple_stmt_iterator i = gsi_for_stmt (f.stmt);
    gsi_insert_before (&i, mark, GSI_SAME_STMT);
    out_.marks.insert ({ mark, f.what });
    put_behind (found_[last].stmt, point);
    for (gimple *g : { (gimple *) mark, (gimple *) point })
      {
        if (fence)
          out_.fences.insert (g);
        if (signal)
          out_.signals.insert (g);
      }
  }

  /// Calls of other units' functions, or one of a function with marks in it.
  void perhaps (size_t first, size_t last)
  {
    tree site = site_for (found_[first]), any = NULL_TREE;
    edge e = nullptr;
    for (size_t k = first; k <= last; k++)
      {
        const SplitPoint &f = found_[k];
        tree v;
        if (f.kind == SplitPoint::FOREIGN)
          v = guard (f, mark_for (f, k == first ? site : site_for (f)));
        else
          v = load_behind (f.stmt, &e);
        if (!v)
          return;
        any = any ? either (f.stmt, any, v) : v;
      }
    if (!e)
      e = behind (found_[last].stmt);
    if (!e)
      return;
    gcall *point = point_for (found_[last], site);
    gimple_stmt_iterator i = only_if (e, is_set (any));
    gsi_insert_before (&i, point, GSI_SAME_STMT);
    out_.perhaps.insert (point);
  }

  /// Loads the unit's word behind `stmt`; `e`: the edge behind that.
  tree load_behind (gimple *stmt, edge *e)
  {
    edge b = behind (stmt);
    if (!b)
      return NULL_TREE;
    basic_block bb = split_edge (b);
    tree v = make_ssa_name (unsigned_type_node);
    gimple_stmt_iterator i = gsi_start_bb (bb);
    gsi_insert_after (&i, ours (gimple_build_assign (v, value (unit_word ()))), GSI_NEW_STMT);
    *e = single_succ_edge (bb);
    return v;
  }

  function *fn_;
  bool segments_;
  std::vector<SplitPoint> found_;
  Split out_;
};

} // namespace

bool gets_marks (function *fn)
{
  return opt_for_fn (fn->decl, optimize) >= 1 && !opt_for_fn (fn->decl, optimize_debug);
}

tree word_of (tree callee)
{
  auto known = words.find (callee);
  return known == words.end () ? NULL_TREE : known->second;
}

Split split (function *fn, bool segments)
{
  loop_optimizer_init (LOOPS_NORMAL);
  calculate_dominance_info (CDI_DOMINATORS);
  Split s = Splitter (fn, segments).run ();
  free_dominance_info (CDI_DOMINATORS);
  loop_optimizer_finalize ();
  mark_virtual_operands_for_renaming (fn);
  update_ssa (TODO_update_ssa);
  return s;
}

} // namespace promp
