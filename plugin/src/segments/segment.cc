// What can be reached within a segment.

#include "segments/segment.h"
#include "memory/heap.h"
#include "ssa.h"

namespace promp {

bool Segment::comes_in (tree name) const
{
  gimple *def = SSA_NAME_DEF_STMT (name);
  std::vector<bool> seen (nodes.size ());
  std::vector<uint32_t> todo = { 0 };
  while (!todo.empty ())
    {
      uint32_t n = todo.back ();
      todo.pop_back ();
      if (seen[n])
        continue;
      seen[n] = true;
      const Node &at = nodes[n];
      bool whole = at.first.ptr == gsi_start_bb (at.bb).ptr && (n > 0 || !site);
      bool defined = whole && gimple_code (def) == GIMPLE_PHI && gimple_bb (def) == at.bb;
      for (gimple_stmt_iterator i = at.first; !defined && !gsi_end_p (i); gsi_next (&i))
        {
          gimple *g = gsi_stmt (i);
          use_operand_p use;
          ssa_op_iter it;
          FOR_EACH_SSA_USE_OPERAND (use, g, it, SSA_OP_USE)
            if (USE_FROM_PTR (use) == name && !is_gimple_debug (g))
              return true;
          if (g == at.terminator)
            break;
          defined = g == def;
        }
      if (defined || at.terminator)
        continue;
      edge e;
      edge_iterator ei;
      FOR_EACH_EDGE (e, ei, at.bb->succs)
        for (gphi_iterator p = gsi_start_phis (e->dest); !gsi_end_p (p); gsi_next (&p))
          if (PHI_ARG_DEF_FROM_EDGE (p.phi (), e) == name)
            return true;
      for (auto &edge : edges)
        if (edge[0] == n)
          todo.push_back (edge[1]);
    }
  return false;
}

bool Segment::is_new (tree t) const
{
  std::set<tree> names;
  bool yes = comes_from_allocations (t, names);
  for (tree name : names)
    yes = yes && !comes_in (name);
  return yes;
}

std::vector<bool> Segment::reached (std::vector<uint32_t> todo, uint32_t avoided) const
{
  std::vector<bool> seen (nodes.size ());
  while (!todo.empty ())
    {
      uint32_t n = todo.back ();
      todo.pop_back ();
      if (seen[n] || n == avoided)
        continue;
      seen[n] = true;
      for (auto &e : edges)
        if (e[0] == n)
          todo.push_back (e[1]);
    }
  return seen;
}

bool Segment::comes_back (basic_block bb) const
{
  for (uint32_t n = 0; n < nodes.size (); n++)
    if (nodes[n].bb == bb && !nodes[n].terminator)
      {
        std::vector<uint32_t> next;
        for (auto &e : edges)
          if (e[0] == n)
            next.push_back (e[1]);
        std::vector<bool> seen = reached (next, NONE);
        for (uint32_t m = 0; m < nodes.size (); m++)
          if (seen[m] && nodes[m].bb == bb && !nodes[m].terminator)
            return true;
      }
  return false;
}

uint32_t Segment::node_of (basic_block bb) const
{
  for (uint32_t n = 1; n < nodes.size (); n++)
    if (nodes[n].bb == bb)
      return n;
  return 0;
}

bool Segment::leads_through (uint32_t through, uint32_t to) const { return !reached ({ 0 }, through)[to]; }

} // namespace promp
