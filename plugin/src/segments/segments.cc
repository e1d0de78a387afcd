// Segments: for each runtime call of a function, the code behind it up to the next ones. Describes them to
// the analysis, adds the saving of old values, and marks the calls for the tables.

#include "memory/memory.h"
#include "segments/assume.h"
#include "segments/containers.h"
#include "memory/heap.h"
#include "segments/inside.h"
#include "memory/summary.h"
#include "segments/tables.h"
#include "undo/undo.h"
#include "segments/schedule.h"
#include "segments/split.h"
#include "segments/segment.h"
#include "segments/sites.h"
#include "ssa.h"
#include "cfgloop.h"
#include "tree-cfg.h"
#include "tree-scalar-evolution.h"
#include "tree-into-ssa.h"
#include "diagnostic-core.h"
#include <map>
#include <set>

namespace promp {
namespace {

/// Of the C++ library's functions: the runtime is asked in front of them, or in their place.
void call_stand_ins (gimple *stmt)
{
  allocate_by_runtime (stmt);
  save_in_containers (stmt);
}

unsigned line_of (gimple *stmt) { return LOCATION_LINE (gimple_location (stmt)); }

/// The fields of ours in a lasting copy of a text.
const char *keep (const std::string &s) { return ggc_strdup (s.c_str ()); }

class Analysis
{
public:
  Analysis (function *fn, const Split &split) : fn_ (fn), split_ (split), memory_ (fn) {}

  void run ()
  {
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (is_save_point (gsi_stmt (i)))
          calls_.push_back (gsi_stmt (i));
    if (is_outlined (fn_))
      segments_.push_back (segment (nullptr));
    for (gimple *call : calls_)
      if (!(gimple_call_flags (call) & ECF_NORETURN))
        segments_.push_back (segment (call));
    // A save point that is seldom executed does not keep loops around it from saving in front of them.
    std::vector<gimple *> always;
    for (gimple *call : calls_)
      if (!split_.perhaps.count (call))
        always.push_back (call);
    doubt_flags ();
    Undo undo (fn_, memory_, always);
    undo_ = &undo;
    for (Segment &s : segments_)
      {
        decide (s);
        for (const Segment::Saved &w : s.saved)
          if (!saved_by_call (s, w.write))
            want (s, w);
        // What functions of other units may read.
        for (auto &p : s.pairs)
          if (const promp_access &w = s.accesses[p.second];
              !w.assumed && s.verdict.verdict != VERDICT_OPAQUE && !saved_by_call (s, p.second))
            undo.want ({ s.statements[p.second], w.place, w.flags }, nullptr, 0, true, {}, false);
      }
    undo.plan ();
    for (Segment &s : segments_)
      if (split_.perhaps.count (s.site))
        saved_before (s);
    for (Segment &s : segments_)
      for (const Segment::Saved &w : s.saved)
        if (gimple *stmt = s.statements[w.write]; !undo.can (stmt) && !saved_by_call (s, w.write))
          {
            s.verdict.verdict = VERDICT_OPAQUE;
            s.verdict.line = s.accesses[w.write].line;
            snprintf (s.verdict.why, sizeof s.verdict.why,
                      s.accesses[w.write].flags & ACCESS_ADDS ? "atomic update"
                      : undo.is_too_expensive (stmt)
                        ? "saving what is written to %s one by one would slow the loop down (-fpromp-elements does it)"
                        : "the extent of what is written to %s is not known",
                      memory_.name (memory_.places ()[s.accesses[w.write].place].object).c_str ());
            break;
          }
    Undo tell (fn_, memory_, always, true);
    tell_ = &tell;
    for (Segment &s : segments_)
      for (size_t i = 0; i < s.accesses.size (); i++)
        if (const promp_access &a = s.accesses[i]; options.sdc && (a.flags & ACCESS_WRITES) && !a.assumed)
          tell.want ({ s.statements[i], a.place, a.flags }, nullptr, 0, true, {}, false);
    tell.plan ();
    std::vector<std::string> untold;
    for (Segment &s : segments_)
      untold.push_back (options.sdc ? why_untold (s) : "");
    // Sharing is decided before anything is inserted.
    std::vector<Freedom> free;
    for (Segment &s : segments_)
      free.push_back (s.verdict.verdict != VERDICT_OPAQUE && s.site
                        ? freedom_of (fn_, memory_, segments_, s.site)
                        : Freedom ());
    for (Segment &s : segments_)
      if (s.verdict.verdict != VERDICT_OPAQUE)
        {
          save_in_front (s);
          save_in_calls (s);
        }
    free_all_later ();
    tell.insert ();
    undo.insert (); // makes second versions of loops, of all that is in them
    for (size_t i = 0; i < segments_.size (); i++)
      {
        Segment &s = segments_[i];
        std::string text = describe (s);
        bool told = options.sdc && untold[i].empty ();
        unsigned assumed = 0, verdict = s.verdict.verdict;
        if (verdict != VERDICT_OPAQUE && !s.parts.empty ())
          text = "in parts: " + s.parts + (s.parts_line ? " at line " + std::to_string (s.parts_line) : "")
                 + "; else " + text;
        if (!s.foreign.empty () && verdict != VERDICT_OPAQUE)
          {
            assumed = assumptions (s, memory_, undo, fn_, place_of (location (s)));
            verdict = VERDICT_OPAQUE;
            const Foreign &f = s.foreign[0];
            text = std::string ("opaque: calls ") + IDENTIFIER_POINTER (DECL_NAME (f.callee)) + " at line "
                   + std::to_string (f.line) + ", of which nothing is known; else " + text;
          }
        mark (s.site, fn_, verdict | (told ? SEGMENT_TOLD : 0), free[i], location (s), text, assumed);
        if (options.sdc && s.site)
          text += told ? "; its chunks can be verified"
                       : "; its chunks cannot be verified: " + untold[i];
        if (options.report && reported (s.site))
          inform (location (s), "promp: %s in %s: %s%s", construct (s.site), function_name ().c_str (), text.c_str (),
                  free[i].dealt ? " (shared, any schedule)" : free[i].shared ? " (shared)" : "");
      }
  }

private:
  const std::set<std::pair<tree, unsigned>> *saved_by_call (const Segment &s, uint32_t write) const
  {
    const promp_access &w = s.accesses[write];
    return w.assumed ? nullptr : memory_.saved_by_call ({ s.statements[write], w.place, w.flags });
  }

  /// What functions of this unit write, and the segment needs, they save.
  void save_in_calls (const Segment &s) const
  {
    auto need = [&] (uint32_t write) {
      if (auto *by = saved_by_call (s, write))
        for (auto &[function, bits] : *by)
          need_inside (function, bits);
    };
    for (const Segment::Saved &w : s.saved)
      need (w.write);
    for (auto &p : s.pairs)
      need (p.second);
  }

  /// A segment behind a save point that is not always executed: what is saved in front of a loop around that is
  /// not saved for it.
  void saved_before (Segment &s)
  {
    auto look = [&] (uint32_t write) {
      if (saved_by_call (s, write))
        return;
      if (s.verdict.verdict == VERDICT_OPAQUE || undo_->saves_behind (s.statements[write], gimple_bb (s.site)))
        return;
      s.verdict.verdict = VERDICT_OPAQUE;
      s.verdict.line = s.accesses[write].line;
      snprintf (s.verdict.why, sizeof s.verdict.why, "what is written to %s is saved in front of the loop only",
                memory_.name (memory_.places ()[s.accesses[write].place].object).c_str ());
    };
    for (const Segment::Saved &w : s.saved)
      look (w.write);
    for (auto &p : s.pairs)
      if (!s.accesses[p.second].assumed)
        look (p.second);
  }

  /// Programs wait for each other by fences around plain accesses, too. What was written between fences, or
  /// between a fence and another such access, cannot be written again if it may be what others wait for:
  /// they may have written it since.
  void doubt_flags ()
  {
    std::set<Segment *> near;
    auto signals = [&] (gimple *g) { return split_.signals.count (g) != 0; };
    auto has_fence = [&] (const Segment &s) {
      if (split_.fences.count (s.site))
        return true;
      for (const Node &n : s.nodes)
        {
          if (split_.fences.count (n.terminator))
            return true;
          for (gimple_stmt_iterator i = n.first; !gsi_end_p (i) && gsi_stmt (i) != n.terminator; gsi_next (&i))
            if (split_.fences.count (gsi_stmt (i)))
              return true;
        }
      return false;
    };
    auto signals_around = [&] (const Segment &s) {
      bool any = signals (s.site);
      for (const Node &n : s.nodes)
        any = any || signals (n.terminator);
      return any;
    };
    bool fences = false;
    for (Segment &s : segments_)
      fences = fences || has_fence (s);
    for (Segment &s : segments_)
      if ((s.fenced = has_fence (s) || (fences && signals_around (s))))
        for (size_t i = 0; i < s.accesses.size (); i++)
          {
            const promp_access &a = s.accesses[i];
            unsigned object = memory_.places ()[a.place].object;
            if (!(a.flags & ACCESS_WRITES) || a.assumed || !may_be_flag (memory_.key (object)))
              continue;
            s.effects.push_back ({ keep ("writes " + memory_.name (object) + " between flushes, for which others may wait"),
                                   a.line, a.node });
            break;
          }
  }

  /// Why it cannot be said what the segment writes; empty if it can.
  std::string why_untold (const Segment &s) const
  {
    if (!s.effects.empty ())
      return s.effects[0].what;
    if (!s.foreign.empty ())
      return "it calls functions of other files";
    if (!s.parts.empty ())
      return s.parts;
    if (s.allocates)
      return "it allocates memory";
    for (size_t i = 0; i < s.accesses.size (); i++)
      if ((s.accesses[i].flags & ACCESS_ATOMIC)
          || ((s.accesses[i].flags & ACCESS_WRITES) && !tell_->can (s.statements[i])))
        return "what is written to " + memory_.name (memory_.places ()[s.accesses[i].place].object)
               + (s.accesses[i].line ? " at line " + std::to_string (s.accesses[i].line) : "")
               + (tell_->is_too_expensive (s.statements[i])
                    ? " can be told one by one only (-fpromp-elements does it)"
                    : " is not known");
    return "";
  }

  void want (const Segment &s, const Segment::Saved &w)
  {
    const promp_access &write = s.accesses[w.write];
    gimple *stmt = s.statements[w.write];
    uint32_t fill = w.outside ? write.fill : 0;
    std::vector<Memory::Item> meets;
    for (uint32_t r : w.meets)
      meets.push_back ({ s.statements[r], s.accesses[r].place, s.accesses[r].flags });
    // What is found out in front of the loop around the write holds for the segment if the loop is not
    // executed again in it. A segment that starts in the loop must not come to where it is entered at all.
    class loop *l = undo_->outermost (stmt);
    basic_block in = l ? loop_preheader_edge (l)->src : nullptr;
    bool inside = l && s.site && flow_bb_inside_loop_p (l, gimple_bb (s.site));
    bool once = l && (inside ? !s.node_of (in) : !s.comes_back (in));
    undo_->want ({ stmt, write.place, write.flags }, fill ? s.statements[fill - 1] : nullptr,
                 fill ? s.accesses[fill - 1].place : 0, s.sure[w.write], meets, once);
  }

  static const char *construct (gimple *site)
  {
    if (!site)
      return "region";
    const char *n = callee_name (site);
    return strstr (n, "loop") ? "loop" : strstr (n, "section") ? "sections" : strstr (n, "single") ? "single" : n;
  }

  /// Without what GCC appends to outlined functions.
  std::string function_name () const
  {
    std::string s = DECL_NAME (fn_->decl) ? IDENTIFIER_POINTER (DECL_NAME (fn_->decl)) : "?";
    return s.substr (0, s.find ("._omp"));
  }

  /// One line a construct. Of a combined parallel construct there is no call that starts it.
  bool reported (gimple *site) const
  {
    if (!site)
      return true;
    if (!strcmp (callee_name (site), "GOMP_sections_next") || strstr (callee_name (site), "dynamic_next")
        || strstr (callee_name (site), "guided_next") || strstr (callee_name (site), "runtime_next"))
      {
        for (gimple *c : calls_)
          if (strstr (callee_name (c), "_start"))
            return false;
        return true;
      }
    const char *n = callee_name (site);
    return strstr (n, "_start") || strstr (n, "_barrier");
  }

  /// The call's own location, or else (loops) that of the first statement behind it that has one.
  location_t location (const Segment &s) const
  {
    location_t best = s.site ? gimple_location (s.site) : DECL_SOURCE_LOCATION (fn_->decl);
    for (const Node &n : s.nodes)
      for (gimple_stmt_iterator i = n.first; !gsi_end_p (i) && LOCATION_LINE (best) <= 0; gsi_next (&i))
        if (!is_gimple_debug (gsi_stmt (i)))
          best = gimple_location (gsi_stmt (i));
    return best;
  }

  std::string describe (const Segment &s) const
  {
    auto what = [&] (unsigned access) {
      return memory_.name (memory_.places ()[s.accesses[access].place].object);
    };
    switch (s.verdict.verdict)
      {
      case VERDICT_IDEMPOTENT:
        return "idempotent";
      case VERDICT_UNDO:
        {
          std::string r = what (s.verdict.read), w = what (s.verdict.write);
          unsigned line = s.accesses[s.verdict.write].line; // none for what the compiler has moved out of a loop
          if (s.accesses[s.verdict.write].flags & ACCESS_ADDS)
            return "undo: " + w + " is added to" + (line ? " at line " + std::to_string (line) : "");
          return "undo: " + (r == w ? w + " is read and written" : r + " may alias " + w)
                 + (line ? " at line " + std::to_string (line) : "");
        }
      default:
        return std::string ("opaque: ") + s.verdict.why
               + (s.verdict.line ? " at line " + std::to_string (s.verdict.line) : "");
      }
  }

  Segment segment (gimple *site)
  {
    Segment s;
    s.site = site;
    std::map<basic_block, uint32_t> index;
    std::vector<uint32_t> todo;
    auto node = [&] (basic_block bb, gimple_stmt_iterator first) {
      s.nodes.push_back ({ bb, first, nullptr });
      todo.push_back (s.nodes.size () - 1);
      return (uint32_t) s.nodes.size () - 1;
    };
    if (site)
      {
        gimple_stmt_iterator i = gsi_for_stmt (site);
        gsi_next (&i);
        node (gimple_bb (site), i);
      }
    else
      {
        basic_block bb = single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_));
        index[bb] = node (bb, gsi_start_bb (bb));
      }
    while (!todo.empty ())
      {
        uint32_t n = todo.back ();
        todo.pop_back ();
        Node at = s.nodes[n];
        for (gimple_stmt_iterator i = at.first; !gsi_end_p (i); gsi_next (&i))
          {
            gimple *stmt = gsi_stmt (i);
            if (is_save_point (stmt))
              {
                s.nodes[n].terminator = stmt;
                const char *name = callee_name (stmt);
                if (strstr (name, "_next"))
                  s.asks.push_back (n);
                break;
              }
            if (split_.own.count (stmt))
              continue;
            if (split_.marks.count (stmt))
              {
                s.nodes[n].terminator = stmt;
                part (s, split_.marks.at (stmt), line_of (stmt));
                break;
              }
            statement (s, n, stmt);
            if (gcall *c = dyn_cast<gcall *> (stmt))
              if (always_meets_runtime (c))
                {
                  s.nodes[n].terminator = stmt;
                  break;
                }
          }
        if (s.nodes[n].terminator)
          continue;
        edge e;
        edge_iterator ei;
        FOR_EACH_EDGE (e, ei, at.bb->succs)
          {
            if (e->dest == EXIT_BLOCK_PTR_FOR_FN (fn_))
              {
                if (!is_outlined (fn_))
                  {
                    std::string what = after_return (fn_);
                    if (!what.empty ())
                      effect (s, n, last_stmt (e->src), what);
                  }
                continue;
              }
            if (e->flags & EDGE_EH
                && (calls_foreign (last_stmt (e->src)) || throws_behind_marks (last_stmt (e->src))))
              continue; // what it may throw is among what is assumed, or behind a mark
            if (e->flags & (EDGE_ABNORMAL | EDGE_EH))
              effect (s, n, last_stmt (e->src), "may leave by an exception");
            auto known = index.find (e->dest);
            uint32_t to = known != index.end () ? known->second : (index[e->dest] = node (e->dest, gsi_start_bb (e->dest)));
            s.edges.push_back ({ n, to });
          }
      }
    note_frees (s);
    forget_new_blocks (s);
    return s;
  }

  static void part (Segment &s, const std::string &what, unsigned line)
  {
    if (s.parts.empty ())
      {
        s.parts = what;
        s.parts_line = line;
      }
  }

  void effect (Segment &s, uint32_t n, gimple *stmt, const std::string &what)
  {
    s.effects.push_back ({ keep (what), stmt ? line_of (stmt) : 0, n });
  }

  /// Which of the blocks that it frees has the segment allocated itself?
  void note_frees (Segment &s)
  {
    for (gcall *c : frees_)
      {
        bool own = s.is_new (gimple_call_arg (c, 0));
        auto known = freed_.insert ({ c, own });
        known.first->second = known.first->second && own;
      }
    frees_.clear ();
  }

  /// What is freed is kept until the next save point: it may be needed again.
  void free_all_later ()
  {
    basic_block bb;
    if (!gets_marks (fn_))
      return;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (gcall *c = frees (gsi_stmt (i)) ? as_a<gcall *> (gsi_stmt (i)) : nullptr)
          {
            auto known = freed_.find (c);
            free_later (c, known != freed_.end () && known->second);
          }
        else
          call_stand_ins (gsi_stmt (i));
  }

  /// Leaves out what happens in blocks that the segment has allocated: when it is executed again it has
  /// other blocks, and no way to the first ones, since what it had stored of them is put back or written
  /// anew.
  void forget_new_blocks (Segment &s)
  {
    std::map<tree, bool> known;
    size_t to = 0;
    for (size_t i = 0; i < s.accesses.size (); i++)
      {
        tree key = memory_.key (memory_.places ()[s.accesses[i].place].object);
        bool drop = false;
        if (key && TREE_CODE (key) == SSA_NAME && !(s.accesses[i].flags & ACCESS_ATOMIC))
          {
            auto k = known.find (key);
            if (k == known.end ())
              k = known.insert ({ key, s.is_new (key) }).first;
            drop = k->second;
          }
        if (drop)
          continue;
        s.accesses[to] = s.accesses[i];
        s.statements[to++] = s.statements[i];
      }
    s.accesses.resize (to);
    s.statements.resize (to);
  }

  /// Is all that is not known of the statement what functions of other units do?
  bool calls_foreign (gimple *stmt)
  {
    auto known = deeds_.find (stmt);
    return known != deeds_.end () && !known->second.foreign.empty ();
  }

  void statement (Segment &s, uint32_t n, gimple *stmt)
  {
    auto known = deeds_.find (stmt);
    if (known == deeds_.end ())
      known = deeds_.emplace (stmt, memory_.look (stmt)).first;
    const Memory::Deed &deed = known->second;
    gcall *call = dyn_cast<gcall *> (stmt);
    // Where a pointer leads to is only seen by what has been put in front of the call.
    bool unseen = call && !split_.done && is_foreign (call) && !target_of (call);
    if (!deed.foreign.empty () && !unseen)
      {
        std::vector<Foreign> calls = deed.foreign;
        if (!split_.done && is_foreign (call))
          calls[0].guarded = false;
        assume (s, n, stmt, calls, memory_);
      }
    else if (!deed.effect.empty ())
      effect (s, n, stmt, deed.effect);
    if (const Summary *f = is_gimple_call (stmt) ? summary_of (as_a<gcall *> (stmt)) : nullptr)
      if (!f->runtime && !f->marked.empty ())
        part (s, f->marked, line_of (stmt));
    if (is_gimple_call (stmt) && (gimple_call_flags (stmt) & ECF_MALLOC))
      s.allocates = true;
    if (frees (stmt))
      frees_.push_back (as_a<gcall *> (stmt));
    for (const Memory::Item &i : deed.items)
      {
        unsigned flags = i.flags | (split_.additions.count (stmt) ? ACCESS_ADDS : 0);
        s.accesses.push_back ({ n, i.place, flags, line_of (stmt), 0, 0 });
        s.statements.push_back (stmt);
      }
  }

  /// 1 + the access that fills a block at the pointer that access `w` goes through. `sure`: on every way
  /// from the segment's start to it.
  uint32_t cover (const Segment &s, size_t w, bool sure) const
  {
    tree key = memory_.key (memory_.places ()[s.accesses[w].place].object);
    if (!key || TREE_CODE (key) != SSA_NAME)
      return 0;
    // The access may go through a pointer that was made from the block's.
    for (; key; key = made_from (key))
      if (uint32_t i = filler (s, key, w, sure))
        return i;
    return 0;
  }

  /// The pointer that `p` is an offset from, null if it is none.
  static tree made_from (tree p)
  {
    gassign *a = TREE_CODE (p) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (p)) : nullptr;
    return a && gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR && TREE_CODE (gimple_assign_rhs1 (a)) == SSA_NAME
             ? gimple_assign_rhs1 (a) : NULL_TREE;
  }

  /// Is `bb`, but for one condition (that there is something to fill), executed before `to` on every way?
  /// Where fills are seldom, saving what is written outside of them would cost too much.
  static bool but_for_one_condition (basic_block bb, basic_block to)
  {
    basic_block guard = get_immediate_dominator (CDI_DOMINATORS, bb);
    return guard && dominated_by_p (CDI_DOMINATORS, to, guard);
  }

  static bool goes_through (tree p, tree key)
  {
    while (p && p != key)
      p = made_from (p);
    return p;
  }

  uint32_t filler (const Segment &s, tree key, size_t w, bool sure) const
  {
    for (size_t i = 0; i < s.accesses.size (); i++)
      {
        gimple *c = s.statements[i];
        // The block's bounds are used at the access: they must be known there.
        if (i == w || !(s.accesses[i].flags & ACCESS_WRITES) || c == s.statements[w]
            || (sure && !dominated_by_p (CDI_DOMINATORS, gimple_bb (s.statements[w]), gimple_bb (c))))
          continue;
        if (is_gimple_assign (c) && goes_through (memory_.key (memory_.places ()[s.accesses[i].place].object), key))
          {
            class loop *l = undo_->filling_loop (c, s.accesses[i].place);
            // The whole loop must be behind the access, not only one of its iterations.
            if (!l || flow_bb_inside_loop_p (l, gimple_bb (s.statements[w])))
              continue;
            uint32_t behind = s.node_of (single_exit (l)->dest);
            if (sure ? behind && (behind == s.accesses[w].node || s.leads_through (behind, s.accesses[w].node))
                     : but_for_one_condition (loop_preheader_edge (l)->src, gimple_bb (s.statements[w])))
              return i + 1;
            continue;
          }
        if ((gimple_call_builtin_p (c, BUILT_IN_MEMSET) || gimple_call_builtin_p (c, BUILT_IN_MEMCPY)
             || gimple_call_builtin_p (c, BUILT_IN_MEMMOVE))
            && gimple_call_arg (c, 0) == key
            && (!sure ? but_for_one_condition (gimple_bb (c), gimple_bb (s.statements[w]))
                : s.accesses[i].node == s.accesses[w].node ? i < w : s.leads_through (s.accesses[i].node, s.accesses[w].node)))
          return i + 1;
      }
    return 0;
  }

  struct Context
  {
    Analysis *self;
    Segment *segment;
  };

  static void save (void *context, const promp_saved *w)
  {
    ((Context *) context)->segment->saved.push_back ({ w->write, w->outside != 0, { w->meets, w->meets + w->count } });
  }

  static void pair (void *context, uint32_t read, uint32_t write)
  {
    ((Context *) context)->segment->pairs.push_back ({ read, write });
  }

  static bool overlap (void *context, uint32_t a, uint32_t b)
  {
    return ((Context *) context)->self->memory_.may_overlap (a, b);
  }

  void decide (Segment &s)
  {
    s.sure.assign (s.accesses.size (), true);
    for (size_t i = 0; i < s.accesses.size (); i++)
      if (!s.accesses[i].assumed
          && !(s.accesses[i].fill = cover (s, i, true)) && (s.accesses[i].fill = cover (s, i, false)))
        s.sure[i] = false;
    Context context = { this, &s };
    promp_segment c = { s.nodes.size (),
                        (const uint32_t (*)[2]) s.edges.data (),
                        s.edges.size (),
                        memory_.places ().data (),
                        memory_.places ().size (),
                        s.accesses.data (),
                        s.accesses.size (),
                        s.effects.data (),
                        s.effects.size (),
                        s.asks.data (),
                        s.asks.size (),
                        overlap,
                        save,
                        pair,
                        &context };
    memset (&s.verdict, 0, sizeof s.verdict);
    promp_analysis_decide (&c, &s.verdict);
  }

  function *fn_;
  const Split &split_;
  Memory memory_;
  std::vector<gimple *> calls_;
  std::vector<Segment> segments_;
  Undo *undo_ = nullptr, *tell_ = nullptr;
  std::map<gimple *, Memory::Deed> deeds_;
  std::vector<gcall *> frees_; ///< of a segment
  std::map<gimple *, bool> freed_; ///< of all, with whether every segment has allocated the block itself
};

const pass_data DATA
  = { GIMPLE_PASS, "promp_segments", OPTGROUP_OMP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, TODO_update_ssa_only_virtuals };

struct Segments : gimple_opt_pass
{
  Segments () : gimple_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp; }
  unsigned execute (function *fn) final override
  {
    bool any = is_outlined (fn);
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i) && !any; gsi_next (&i))
        any = is_save_point (gsi_stmt (i));
    if (!any)
      {
        split (fn, false);
        if (const Summary *s = summary_of (fn); s && s->saves && !s->runtime)
          save_inside (fn);
        if (!gets_marks (fn))
          return 0;
        FOR_EACH_BB_FN (bb, fn)
          for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
            if (frees (gsi_stmt (i)))
              free_later (as_a<gcall *> (gsi_stmt (i)), is_allocated (gimple_call_arg (gsi_stmt (i), 0)));
            else
              call_stand_ins (gsi_stmt (i));
        return 0;
      }
    Split parts = split (fn, true);
    loop_optimizer_init (LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
    scev_initialize ();
    Analysis (fn, parts).run ();
    scev_finalize ();
    loop_optimizer_finalize ();
    mark_virtual_operands_for_renaming (fn);
    update_ssa (TODO_update_ssa);
    return 0;
  }
};

} // namespace

opt_pass *make_segments_pass () { return new Segments; }
} // namespace promp
