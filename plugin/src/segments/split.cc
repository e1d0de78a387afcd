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

bool never_returns (gcall *call)
{
  return (gimple_call_flags (call) & ECF_NORETURN) && !gimple_call_internal_p (call) && !is_save_point (call);
}

/// Does it never return, nor throw? There is a mark in front of it, and nothing behind.
bool ends_the_program (gcall *call)
{
  return never_returns (call) && !gimple_call_builtin_p (call, BUILT_IN_UNREACHABLE)
         && !gimple_call_builtin_p (call, BUILT_IN_TRAP) && !stmt_could_throw_p (cfun, call);
}

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

class Splitter
{
public:
  Splitter (function *fn, bool segments) : fn_ (fn), memory_ (fn), segments_ (segments) {}

  Split run ()
  {
    // The program's main function is never executed in a region.
    if (segments_ && MAIN_NAME_P (DECL_NAME (fn_->decl)))
      return {};
    if (segments_)
      out_.additions = additions_of (fn_);
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        look (gsi_stmt (i));
    for (gimple *call : last_)
      mark_last (call);
    if (segments_ && found_.size () > TOO_MANY)
      {
        Split none;
        none.additions = out_.additions;
        return none;
      }
    for (size_t i = 0; i < found_.size (); i++)
      if (segments_)
        i = group (i);
      else if (found_[i].kind == OUTPUT || found_[i].kind == FOREIGN)
        alone (found_[i]);
    out_.done = true;
    return out_;
  }

private:
  /// What a statement is: output (marked wherever it is); something else that cannot be executed twice; a
  /// call of a function of another unit; one of a function with marks in it; what ends a group.
  enum Kind { OUTPUT, OPAQUE, FENCE, SIGNAL, FOREIGN, MARKED, OTHER };
  struct Found
  {
    gimple *stmt;
    Kind kind;
    std::string what;
    bool waits;
  };

  void look (gimple *stmt)
  {
    gcall *c = dyn_cast<gcall *> (stmt);
    if (is_save_point (stmt))
      return found_.push_back ({ stmt, OTHER, "", false });
    if (out_.additions.count (stmt))
      return;
    if (c && ends_the_program (c))
      return last_.push_back (stmt);
    Memory::Deed d = memory_.look (stmt);
    if (c && is_marked (c))
      return found_.push_back ({ stmt, OUTPUT, d.effect, false });
    if (!d.foreign.empty ())
      return found_.push_back ({ stmt, is_foreign (c) ? FOREIGN : MARKED, d.effect, false });
    const Summary *s = c ? summary_of (c) : nullptr;
    if (d.effect.empty ())
      {
        if (s && !s->runtime && !s->marked.empty ())
          return found_.push_back ({ stmt, MARKED, s->marked, false });
        for (const Memory::Item &i : d.items)
          if (i.flags & ACCESS_ATOMIC)
            return atomic (c, i);
        if (c && !gimple_call_builtin_p (c, BUILT_IN_NORMAL) && !gimple_call_internal_p (c))
          found_.push_back ({ stmt, OTHER, "", false });
        return;
      }
    bool small = !c || gimple_call_builtin_p (c, BUILT_IN_NORMAL);
    // A function with a fence in it does more than that.
    bool fence = small && d.effect.find ("fence") != std::string::npos;
    Kind kind = fence ? FENCE : c ? OPAQUE : SIGNAL;
    bool waits = false;
    if (!small || splits (stmt, &waits))
      found_.push_back ({ stmt, kind, d.effect, waits });
  }

  /// An atomic access. Reductions are merged by such, at the end of a region; the runtime knows how.
  void atomic (gcall *c, const Memory::Item &item)
  {
    class loop *l = gimple_bb (c)->loop_father;
    bool waits;
    if (gimple_call_internal_p (c) || strstr (callee_name (c), "compare_exchange") || !loop_outer (l)
        || !splits (c, &waits))
      return;
    bool writes = item.flags & ACCESS_WRITES;
    found_.push_back ({ c, SIGNAL, writes ? "updates memory atomically" : "reads memory atomically", waits });
  }

  /// Does what ends the loop depend on memory that is read, or a call, in it? Else it is no loop that waits.
  static bool ends_by_others (class loop *l)
  {
    std::set<tree> seen;
    std::vector<tree> todo;
    auto uses = [&] (gimple *s) {
      ssa_op_iter i;
      tree t;
      FOR_EACH_SSA_TREE_OPERAND (t, s, i, SSA_OP_USE)
        todo.push_back (t);
    };
    auto exits = get_loop_exit_edges (l);
    for (edge e : exits)
      if (gimple *last = last_stmt (e->src))
        uses (last);
    exits.release ();
    while (!todo.empty ())
      {
        tree t = todo.back ();
        todo.pop_back ();
        gimple *def = SSA_NAME_DEF_STMT (t);
        if (!seen.insert (t).second || !gimple_bb (def) || !flow_bb_inside_loop_p (l, gimple_bb (def)))
          continue;
        if (gphi *p = dyn_cast<gphi *> (def))
          {
            for (unsigned i = 0; i < gimple_phi_num_args (p); i++)
              if (TREE_CODE (gimple_phi_arg_def (p, i)) == SSA_NAME)
                todo.push_back (gimple_phi_arg_def (p, i));
            continue;
          }
        if (!is_gimple_assign (def) || gimple_vuse (def))
          return true;
        uses (def);
      }
    return false;
  }

  /// May a fence or the like be split off where it is? `waits`: the loop does nothing else, until others let
  /// it go on.
  bool splits (gimple *stmt, bool *waits)
  {
    class loop *l = gimple_bb (stmt)->loop_father;
    *waits = false;
    if (!loop_outer (l) || l->inner)
      return true;
    bool calls = false, writes = false;
    basic_block *bbs = get_loop_body (l);
    for (unsigned i = 0; i < l->num_nodes; i++)
      for (gimple_stmt_iterator g = gsi_start_bb (bbs[i]); !gsi_end_p (g); gsi_next (&g))
        {
          gimple *s = gsi_stmt (g);
          if (is_gimple_debug (s) || gimple_clobber_p (s))
            continue;
          Memory::Deed d = memory_.look (s);
          bool known = is_gimple_call (s) && !gimple_call_builtin_p (s, BUILT_IN_NORMAL)
                       && !gimple_call_internal_p (s);
          calls = calls || known;
          for (const Memory::Item &x : d.items)
            writes = writes || ((x.flags & ACCESS_WRITES) && !(x.flags & ACCESS_ATOMIC));
          bool quiet = d.effect.empty () && d.items.empty ();
          writes = writes || (is_gimple_assign (s) && gimple_vdef (s) && quiet);
        }
    free (bbs);
    *waits = !calls && !writes && ends_by_others (l);
    return calls || *waits;
  }

  tree site_for (const Found &f)
  {
    return new_site (f.waits ? SITE_WAITS : SITE_OPAQUE, gimple_location (f.stmt), f.what);
  }

  gcall *mark_for (const Found &f, tree site)
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

  static tree is_set (tree v)
  {
    return build2 (NE_EXPR, boolean_type_node, v, build_zero_cst (TREE_TYPE (v)));
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
            tree all = v ? make_ssa_name (unsigned_type_node) : known;
            if (v)
              gsi_insert_before (&i, ours (gimple_build_assign (all, BIT_IOR_EXPR, v, known)), GSI_SAME_STMT);
            v = all;
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
  tree guard (const Found &f, gcall *call)
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
  void alone (const Found &f)
  {
    gcall *mark = mark_for (f, site_for (f));
    if (f.kind == FOREIGN)
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

  /// A call that ends the program: what it does before that is done once. Nothing comes back to a save point.
  void mark_last (gimple *call)
  {
    Found f = { call, OUTPUT, std::string ("calls ") + callee_name (call), false };
    gcall *mark = mark_for (f, site_for (f));
    gimple_stmt_iterator i = gsi_for_stmt (call);
    gsi_insert_before (&i, mark, GSI_SAME_STMT);
    if (segments_)
      out_.marks.insert ({ mark, f.what });
  }

  static bool always (Kind k) { return k <= SIGNAL; }

  /// Splits off the one at `i`, and those behind it in the same block that go with it; the last one.
  size_t group (size_t i)
  {
    if (found_[i].kind == OTHER)
      return i;
    size_t last = i;
    basic_block bb = gimple_bb (found_[i].stmt);
    auto goes_on = [&] (size_t k) {
      return k < found_.size () && gimple_bb (found_[k].stmt) == bb && !stmt_ends_bb_p (found_[k - 1].stmt)
             && found_[k].kind != OTHER && always (found_[k].kind) == always (found_[i].kind)
             && (always (found_[k].kind) || found_[k].kind == found_[i].kind);
    };
    while (found_[i].kind != MARKED && goes_on (last + 1))
      last++;
    if (always (found_[i].kind))
      split_off (i, last);
    else
      perhaps (i, last);
    return last;
  }

  /// Does it only read, or is it a fence?
  static bool only_reads (const Found &f)
  {
    bool reads = is_gimple_call (f.stmt) ? f.what[0] == 'r' : gimple_assign_load_p (f.stmt);
    return f.kind == FENCE || (f.kind == SIGNAL && reads);
  }

  /// Nothing but fences, or reads in a loop that waits. A fence is no reason for a mark: what was written
  /// before it can be seen by others before it, too (but see segments.cc). Nor is a read, if a save point
  /// follows before its value is used.
  bool repeats (size_t first, size_t last)
  {
    bool fences = true;
    for (size_t k = first; k <= last; k++)
      {
        if (!only_reads (found_[k]) || stmt_ends_bb_p (found_[k].stmt)
            || (found_[k].kind != FENCE && !found_[k].waits))
          return false;
        fences = fences && found_[k].kind == FENCE;
      }
    for (size_t k = first; k <= last; k++)
      {
        ours (found_[k].stmt);
        if (found_[k].kind == FENCE)
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
    Found &f = found_[first];
    if (repeats (first, last))
      return;
    bool fence = false, signal = false;
    for (size_t k = first; k <= last; k++)
      {
        fence = fence || found_[k].kind == FENCE;
        signal = signal || found_[k].kind == SIGNAL;
        f.waits = f.waits || found_[k].waits;
      }
    tree site = site_for (f);
    gcall *mark = mark_for (f, site), *point = point_call (site);
    gimple_set_location (point, gimple_location (found_[last].stmt));
    gimple_stmt_iterator i = gsi_for_stmt (f.stmt);
    gsi_insert_before (&i, mark, GSI_SAME_STMT);
    out_.marks.insert ({ mark, f.what });
    gimple *at = found_[last].stmt;
    if (!stmt_ends_bb_p (at))
      {
        i = gsi_for_stmt (at);
        gsi_insert_after (&i, point, GSI_SAME_STMT);
      }
    else if (edge e = behind (at))
      gsi_insert_on_edge_immediate (e, point);
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
        const Found &f = found_[k];
        tree v;
        if (f.kind == FOREIGN)
          v = guard (f, mark_for (f, k == first ? site : site_for (f)));
        else
          v = load_behind (f.stmt, &e);
        if (!v)
          return;
        if (any)
          {
            tree both = make_ssa_name (unsigned_type_node);
            gimple_stmt_iterator i = gsi_for_stmt (f.stmt);
            gsi_insert_before (&i, ours (gimple_build_assign (both, BIT_IOR_EXPR, any, v)), GSI_SAME_STMT);
            v = both;
          }
        any = v;
      }
    if (!e)
      e = behind (found_[last].stmt);
    if (!e)
      return;
    gcall *point = point_call (site);
    gimple_set_location (point, gimple_location (found_[last].stmt));
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
  Memory memory_;
  bool segments_;
  std::vector<Found> found_;
  std::vector<gimple *> last_; ///< calls that end the program
  Split out_;
};

/// What is read, not by volatile or atomic accesses, before a condition that depends on it: variables, and
/// where pointers lead.
std::set<tree> read_variables;
std::vector<pt_solution> read_behind;
bool read_anywhere;

/// Notes the loads that `t` is computed from.
void note_loads (tree t, std::set<tree> &seen)
{
  if (!t || TREE_CODE (t) != SSA_NAME || !seen.insert (t).second || SSA_NAME_IS_DEFAULT_DEF (t))
    return;
  gimple *def = SSA_NAME_DEF_STMT (t);
  if (gphi *p = dyn_cast<gphi *> (def))
    {
      for (unsigned i = 0; i < gimple_phi_num_args (p); i++)
        note_loads (gimple_phi_arg_def (p, i), seen);
      return;
    }
  gassign *a = dyn_cast<gassign *> (def);
  if (!a)
    return; // results of calls are noted where they are returned
  if (!gimple_assign_load_p (a))
    {
      for (unsigned i = 1; i < gimple_num_ops (a); i++)
        note_loads (gimple_op (a, i), seen);
      return;
    }
  if (gimple_has_volatile_ops (a))
    return;
  tree base = get_base_address (gimple_assign_rhs1 (a));
  if (base && DECL_P (base))
    {
      read_variables.insert (base);
      keep (base);
      return;
    }
  tree p = base && TREE_CODE (base) == MEM_REF ? TREE_OPERAND (base, 0) : NULL_TREE;
  if (p && TREE_CODE (p) == ADDR_EXPR && DECL_P (TREE_OPERAND (p, 0)))
    {
      read_variables.insert (TREE_OPERAND (p, 0));
      keep (TREE_OPERAND (p, 0));
      return;
    }
  ptr_info_def *pi = p && TREE_CODE (p) == SSA_NAME ? SSA_NAME_PTR_INFO (p) : nullptr;
  if (!pi || pi->pt.anything || read_behind.size () >= 1000)
    {
      read_anywhere = true;
      return;
    }
  read_behind.push_back (pi->pt);
  if (pi->pt.vars)
    {
      read_behind.back ().vars = BITMAP_ALLOC (nullptr);
      bitmap_copy (read_behind.back ().vars, pi->pt.vars);
    }
}

/// Is the variable known to this unit alone, and its address to nobody?
bool stays_in_unit (tree decl)
{
  varpool_node *n = TREE_STATIC (decl) && !TREE_PUBLIC (decl) ? varpool_node::get (decl) : nullptr;
  ipa_ref *r = nullptr;
  if (!n)
    return false;
  for (unsigned i = 0; n->iterate_referring (i, r); i++)
    if (r->use == IPA_REF_ADDR || r->use == IPA_REF_ALIAS)
      return false;
  return true;
}

} // namespace

void note_conditions (function *fn)
{
  std::set<tree> seen;
  basic_block bb;
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      {
        gimple *s = gsi_stmt (i);
        gcall *c = dyn_cast<gcall *> (s);
        auto code = gimple_code (s);
        if (code != GIMPLE_COND && code != GIMPLE_SWITCH && code != GIMPLE_RETURN
            && (!c || gimple_call_builtin_p (c, BUILT_IN_NORMAL) || is_save_point (c)))
          continue;
        for (unsigned k = 0; k < gimple_num_ops (s); k++)
          note_loads (gimple_op (s, k), seen);
      }
}

bool may_be_flag (tree key)
{
  if (!key)
    return true;
  if (DECL_P (key))
    return !VAR_P (key) || !stays_in_unit (key) || read_variables.count (key);
  ptr_info_def *pi = TREE_CODE (key) == SSA_NAME ? SSA_NAME_PTR_INFO (key) : nullptr;
  if (!pi || read_anywhere)
    return true;
  pt_solution &pt = pi->pt;
  if (pt.anything || pt.nonlocal || pt.escaped || pt.ipa_escaped || pt.vars_contains_nonlocal
      || pt.vars_contains_escaped || pt.vars_contains_escaped_heap)
    return true;
  for (pt_solution &r : read_behind)
    if (pt_solutions_intersect (&pt, &r))
      return true;
  return false;
}

bool gets_marks (function *fn)
{
  return opt_for_fn (fn->decl, optimize) >= 1 && !opt_for_fn (fn->decl, optimize_debug);
}

/// Does it never return, but throw? Behind the mark in front of it, nothing of the ways that the exception
/// takes counts, up to the next save point. If it makes runtime calls, what follows the last of them is a
/// segment of its own, which leaves by an exception.
bool only_throws (gcall *call)
{
  const Summary *s = summary_of (call);
  return never_returns (call) && stmt_could_throw_p (cfun, call) && (!s || s->runtime);
}

bool is_marked (gcall *call)
{
  if (only_throws (call))
    return true;
  // The fwrite that GCC makes of fprintf need not have the types of the built-in function.
  tree decl = gimple_call_fndecl (call);
  if (!decl || !fndecl_built_in_p (decl, BUILT_IN_NORMAL))
    return false;
  // GCC makes nothing else of any of these.
  switch (DECL_FUNCTION_CODE (decl))
    {
    case BUILT_IN_PRINTF: case BUILT_IN_PRINTF_CHK: case BUILT_IN_PRINTF_UNLOCKED:
    case BUILT_IN_FPRINTF: case BUILT_IN_FPRINTF_CHK: case BUILT_IN_FPRINTF_UNLOCKED:
    case BUILT_IN_VPRINTF: case BUILT_IN_VPRINTF_CHK: case BUILT_IN_VFPRINTF: case BUILT_IN_VFPRINTF_CHK:
    case BUILT_IN_PUTS: case BUILT_IN_PUTS_UNLOCKED: case BUILT_IN_PUTCHAR: case BUILT_IN_PUTCHAR_UNLOCKED:
    case BUILT_IN_FPUTS: case BUILT_IN_FPUTS_UNLOCKED: case BUILT_IN_FPUTC: case BUILT_IN_FPUTC_UNLOCKED:
    case BUILT_IN_FWRITE: case BUILT_IN_FWRITE_UNLOCKED:
      return true;
    default:
      return false;
    }
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
