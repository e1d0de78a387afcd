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
#include "segments/segment_builder.h"
#include "segments/fills.h"
#include "segments/flags.h"
#include "segments/verdict_text.h"
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

/// Will there be a save point behind the call, whatever it does?
bool is_followed_by_one (gimple *stmt)
{
  gcall *call = dyn_cast<gcall *> (stmt);
  return call && !marked_return (call).empty ();
}

/// What `fn` frees is kept until the next save point: it may be needed again. `is_own`: has the work in flight
/// allocated it?
template <class Own> void free_all_later (function *fn, Own is_own)
{
  basic_block bb;
  if (!gets_marks (fn))
    return;
  FOR_EACH_BB_FN (bb, fn)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      if (gcall *c = frees (gsi_stmt (i)) ? as_a<gcall *> (gsi_stmt (i)) : nullptr)
        free_later (c, is_own (c));
      else
        call_stand_ins (gsi_stmt (i));
}

/// What the analysis gets back in its calls.
struct Context
{
  Memory *memory;
  Segment *segment;
};

void save (void *context, const promp_saved *w)
{
  std::vector<uint32_t> meets (w->meets, w->meets + w->count);
  ((Context *) context)->segment->saved.push_back ({ w->write, w->outside != 0, meets });
}

void pair (void *context, uint32_t read, uint32_t write)
{
  ((Context *) context)->segment->pairs.push_back ({ read, write });
}

bool overlap (void *context, uint32_t a, uint32_t b)
{
  return ((Context *) context)->memory->may_overlap (a, b);
}

class Analysis
{
public:
  Analysis (function *fn, const Split &split)
      : fn_ (fn), split_ (split), memory_ (fn), builder_ (fn, split, memory_)
  {
  }

  void run ()
  {
    find ();
    // A save point that is seldom executed does not keep loops around it from saving in front of them.
    std::vector<gimple *> always;
    for (gimple *call : calls_)
      if (!split_.perhaps.count (call))
        always.push_back (call);
    doubt_flags (segments_, split_, memory_);
    Undo undo (fn_, memory_, always);
    undo_ = &undo;
    for (Segment &s : segments_)
      {
        decide (s);
        want_all (s);
      }
    undo.plan ();
    for (Segment &s : segments_)
      if (split_.perhaps.count (s.site))
        saved_before (s);
    for (Segment &s : segments_)
      refuse_unsaved (s);
    Undo tell (fn_, memory_, always, true);
    std::vector<std::string> untold = plan_telling (tell);
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
    free_all_later (fn_, [&] (gcall *c) { return builder_.frees_own (c); });
    tell.insert ();
    undo.insert (); // makes second versions of loops, of all that is in them
    for (size_t i = 0; i < segments_.size (); i++)
      write (segments_[i], untold[i], free[i]);
  }

private:
  void find ()
  {
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn_)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (is_save_point (gsi_stmt (i)))
          calls_.push_back (gsi_stmt (i));
    if (is_outlined (fn_))
      segments_.push_back (builder_.segment (nullptr));
    for (gimple *call : calls_)
      if (!(gimple_call_flags (call) & ECF_NORETURN))
        segments_.push_back (builder_.segment (call));
  }

  /// Wants old values to be saved that the segment needs.
  void want_all (const Segment &s)
  {
    for (const Segment::Saved &w : s.saved)
      if (!saved_by_call (s, w.write))
        want (s, w);
    // What functions of other units may read.
    for (auto &p : s.pairs)
      if (const promp_access &w = s.accesses[p.second];
          !w.assumed && s.verdict.verdict != VERDICT_OPAQUE && !saved_by_call (s, p.second))
        undo_->want ({ s.statements[p.second], w.place, w.flags }, nullptr, 0, true, {}, false);
  }

  /// A segment with an old value that cannot be saved is not executed again.
  void refuse_unsaved (Segment &s)
  {
    for (const Segment::Saved &w : s.saved)
      if (gimple *stmt = s.statements[w.write]; !undo_->can (stmt) && !saved_by_call (s, w.write))
        {
          s.verdict.verdict = VERDICT_OPAQUE;
          s.verdict.line = s.accesses[w.write].line;
          snprintf (s.verdict.why, sizeof s.verdict.why,
                    s.accesses[w.write].flags & ACCESS_ADDS ? "atomic update"
                    : undo_->is_too_expensive (stmt)
                      ? "saving what is written to %s one by one would slow the loop down (-fpromp-elements does it)"
                      : "the extent of what is written to %s is not known",
                    memory_.name (memory_.places ()[s.accesses[w.write].place].object).c_str ());
          break;
        }
  }

  /// Has calls say what segments write; why that cannot be said, of each of them.
  std::vector<std::string> plan_telling (Undo &tell)
  {
    for (Segment &s : segments_)
      for (size_t i = 0; i < s.accesses.size (); i++)
        if (const promp_access &a = s.accesses[i]; options.sdc && (a.flags & ACCESS_WRITES) && !a.assumed)
          tell.want ({ s.statements[i], a.place, a.flags }, nullptr, 0, true, {}, false);
    tell.plan ();
    std::vector<std::string> untold;
    for (Segment &s : segments_)
      untold.push_back (options.sdc ? why_untold (s, memory_, tell) : "");
    return untold;
  }

  /// Marks the segment's call for the tables, and reports its verdict.
  void write (Segment &s, const std::string &untold, const Freedom &free)
  {
    std::string text = describe (s, memory_);
    location_t location = location_of (s, fn_);
    bool told = options.sdc && untold.empty ();
    unsigned assumed = 0, verdict = s.verdict.verdict;
    if (verdict != VERDICT_OPAQUE && !s.parts.empty ())
      text = "in parts: " + s.parts + (s.parts_line ? " at line " + std::to_string (s.parts_line) : "")
             + "; else " + text;
    if (!s.foreign.empty () && verdict != VERDICT_OPAQUE)
      {
        assumed = assumptions (s, memory_, *undo_, fn_, place_of (location));
        verdict = VERDICT_OPAQUE;
        const Foreign &f = s.foreign[0];
        text = std::string ("opaque: calls ") + IDENTIFIER_POINTER (DECL_NAME (f.callee)) + " at line "
               + std::to_string (f.line) + ", of which nothing is known; else " + text;
      }
    mark (s.site, fn_, verdict | (told ? SEGMENT_TOLD : 0), free, location, text, assumed);
    if (options.sdc && s.site)
      text += told ? "; its chunks can be verified" : "; its chunks cannot be verified: " + untold;
    if (options.report && is_reported (s.site, calls_))
      inform (location, "promp: %s in %s: %s%s", construct (s.site), source_name (fn_).c_str (), text.c_str (),
              free.dealt ? " (shared, any schedule)" : free.shared ? " (shared)" : "");
  }

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

  void decide (Segment &s)
  {
    s.sure.assign (s.accesses.size (), true);
    for (size_t i = 0; i < s.accesses.size (); i++)
      if (promp_access &a = s.accesses[i]; !a.assumed)
        if (!(a.fill = cover (s, i, true, memory_, *undo_)) && (a.fill = cover (s, i, false, memory_, *undo_)))
          s.sure[i] = false;
    Context context = { &memory_, &s };
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
  SegmentBuilder builder_;
  std::vector<gimple *> calls_;
  std::vector<Segment> segments_;
  Undo *undo_ = nullptr;
};

const pass_data DATA
  = { GIMPLE_PASS, "promp_segments", OPTGROUP_OMP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, TODO_update_ssa_only_virtuals };

struct Segments : gimple_opt_pass
{
  Segments () : gimple_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp; }
  unsigned execute (function *fn) final override
  {
    bool any = is_outlined (fn) || !marked_return (fn).empty ();
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i) && !any; gsi_next (&i))
        any = is_save_point (gsi_stmt (i)) || is_followed_by_one (gsi_stmt (i));
    if (!any)
      {
        split (fn, false);
        if (const Summary *s = summary_of (fn); s && s->saves && !s->runtime)
          save_inside (fn);
        free_all_later (fn, [] (gcall *c) { return is_allocated (gimple_call_arg (c, 0)); });
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
