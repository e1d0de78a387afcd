// Accesses that fill a block: what lies in it need not be saved.

#include "segments/fills.h"
#include "cfgloop.h"
#include "ssa.h"
#include "tree-cfg.h"

namespace promp {
namespace {

/// The pointer that `p` is an offset from, null if it is none.
tree made_from (tree p)
{
  gassign *a = TREE_CODE (p) == SSA_NAME ? dyn_cast<gassign *> (SSA_NAME_DEF_STMT (p)) : nullptr;
  bool is = a && gimple_assign_rhs_code (a) == POINTER_PLUS_EXPR
            && TREE_CODE (gimple_assign_rhs1 (a)) == SSA_NAME;
  return is ? gimple_assign_rhs1 (a) : NULL_TREE;
}

/// Is `bb`, but for one condition (that there is something to fill), executed before `to` on every way?
/// Where fills are seldom, saving what is written outside of them would cost too much.
bool but_for_one_condition (basic_block bb, basic_block to)
{
  basic_block guard = get_immediate_dominator (CDI_DOMINATORS, bb);
  return guard && dominated_by_p (CDI_DOMINATORS, to, guard);
}

bool goes_through (tree p, tree key)
{
  while (p && p != key)
    p = made_from (p);
  return p;
}

/// 1 + the access that fills a block at `key`, as `cover`; 0: there is none.
uint32_t filler (const Segment &s, tree key, size_t w, bool sure, const Memory &memory, Undo &undo)
{
  for (size_t i = 0; i < s.accesses.size (); i++)
    {
      gimple *c = s.statements[i];
      // The block's bounds are used at the access: they must be known there.
      if (i == w || !(s.accesses[i].flags & ACCESS_WRITES) || c == s.statements[w]
          || (sure && !dominated_by_p (CDI_DOMINATORS, gimple_bb (s.statements[w]), gimple_bb (c))))
        continue;
      tree through = memory.key (memory.places ()[s.accesses[i].place].object);
      if (is_gimple_assign (c) && goes_through (through, key))
        {
          class loop *l = undo.filling_loop (c, s.accesses[i].place);
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
              : s.accesses[i].node == s.accesses[w].node
                ? i < w
                : s.leads_through (s.accesses[i].node, s.accesses[w].node)))
        return i + 1;
    }
  return 0;
}

} // namespace

uint32_t cover (const Segment &s, size_t w, bool sure, const Memory &memory, Undo &undo)
{
  tree key = memory.key (memory.places ()[s.accesses[w].place].object);
  if (!key || TREE_CODE (key) != SSA_NAME)
    return 0;
  // The access may go through a pointer that was made from the block's.
  for (; key; key = made_from (key))
    if (uint32_t i = filler (s, key, w, sure, memory, undo))
      return i;
  return 0;
}

} // namespace promp
