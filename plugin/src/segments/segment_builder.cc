// From a runtime call to the next ones: the nodes of a segment, and what its statements do.

#include "segments/segment_builder.h"
#include "memory/heap.h"
#include "memory/summary.h"
#include "segments/assume.h"
#include "ssa.h"
#include "tree-cfg.h"

namespace promp {

static void part (Segment &s, const std::string &what, unsigned line)
{
  if (s.parts.empty ())
    {
      s.parts = what;
      s.parts_line = line;
    }
}

Segment SegmentBuilder::segment (gimple *site)
{
  Segment s;
  s.site = site;
  index_.clear ();
  if (site)
    {
      gimple_stmt_iterator i = gsi_for_stmt (site);
      gsi_next (&i);
      node (s, gimple_bb (site), i);
    }
  else
    {
      basic_block bb = single_succ (ENTRY_BLOCK_PTR_FOR_FN (fn_));
      index_[bb] = node (s, bb, gsi_start_bb (bb));
    }
  while (!todo_.empty ())
    {
      uint32_t n = todo_.back ();
      todo_.pop_back ();
      statements (s, n);
      if (!s.nodes[n].terminator)
        go_on (s, n);
    }
  note_frees (s);
  forget_new_blocks (s);
  return s;
}

uint32_t SegmentBuilder::node (Segment &s, basic_block bb, gimple_stmt_iterator first)
{
  s.nodes.push_back ({ bb, first, nullptr });
  todo_.push_back (s.nodes.size () - 1);
  return s.nodes.size () - 1;
}

/// What the statements of a node do, up to what ends the segment.
void SegmentBuilder::statements (Segment &s, uint32_t n)
{
  for (gimple_stmt_iterator i = s.nodes[n].first; !gsi_end_p (i); gsi_next (&i))
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
}

/// Where control goes from the end of a node.
void SegmentBuilder::go_on (Segment &s, uint32_t n)
{
  edge e;
  edge_iterator ei;
  FOR_EACH_EDGE (e, ei, s.nodes[n].bb->succs)
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
      auto known = index_.find (e->dest);
      uint32_t to = known != index_.end () ? known->second
                                           : (index_[e->dest] = node (s, e->dest, gsi_start_bb (e->dest)));
      s.edges.push_back ({ n, to });
    }
}

void SegmentBuilder::effect (Segment &s, uint32_t n, gimple *stmt, const std::string &what)
{
  s.effects.push_back ({ lasting (what), stmt ? line_of (stmt) : 0, n });
}

/// Which of the blocks that it frees has the segment allocated itself?
void SegmentBuilder::note_frees (Segment &s)
{
  for (gcall *c : frees_)
    {
      bool own = s.is_new (gimple_call_arg (c, 0));
      auto known = freed_.insert ({ c, own });
      known.first->second = known.first->second && own;
    }
  frees_.clear ();
}

/// Leaves out what happens in blocks that the segment has allocated: when it is executed again it has
/// other blocks, and no way to the first ones, since what it had stored of them is put back or written
/// anew.
void SegmentBuilder::forget_new_blocks (Segment &s)
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
bool SegmentBuilder::calls_foreign (gimple *stmt)
{
  auto known = deeds_.find (stmt);
  return known != deeds_.end () && !known->second.foreign.empty ();
}

void SegmentBuilder::statement (Segment &s, uint32_t n, gimple *stmt)
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

} // namespace promp
