// What cannot be executed twice, and where functions are split for it (split.cc says how).

#include "segments/split_points.h"
#include "memory/summary.h"
#include "segments/split.h"
#include "cfgloop.h"
#include "ssa.h"
#include "tree-cfg.h"
#include "tree-eh.h"

namespace promp {

static bool never_returns (gcall *call)
{
  return (gimple_call_flags (call) & ECF_NORETURN) && !gimple_call_internal_p (call) && !is_save_point (call);
}

/// Does it never return, nor throw? There is a mark in front of it, and nothing behind.
static bool ends_the_program (gcall *call)
{
  return never_returns (call) && !gimple_call_builtin_p (call, BUILT_IN_UNREACHABLE)
         && !gimple_call_builtin_p (call, BUILT_IN_TRAP) && !stmt_could_throw_p (cfun, call);
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

void SplitPoints::look (gimple *stmt)
{
  gcall *c = dyn_cast<gcall *> (stmt);
  if (is_save_point (stmt))
    return found.push_back ({ stmt, SplitPoint::OTHER, "", false });
  if (additions_.count (stmt))
    return;
  if (c && ends_the_program (c))
    return last.push_back (stmt);
  Memory::Deed d = memory_.look (stmt);
  if (c && is_marked (c))
    return found.push_back ({ stmt, SplitPoint::OUTPUT, d.effect, false });
  if (!d.foreign.empty ())
    {
      SplitPoint::Kind kind = is_foreign (c) ? SplitPoint::FOREIGN : SplitPoint::MARKED;
      return found.push_back ({ stmt, kind, d.effect, false });
    }
  const Summary *s = c ? summary_of (c) : nullptr;
  if (d.effect.empty ())
    {
      if (s && !s->runtime && !s->marked.empty ())
        return found.push_back ({ stmt, SplitPoint::MARKED, s->marked, false });
      if (std::string what = c && !gimple_call_must_tail_p (c) ? marked_return (c) : ""; !what.empty ())
        return found.push_back ({ stmt, SplitPoint::RETURNED, what, false });
      for (const Memory::Item &i : d.items)
        if (i.flags & ACCESS_ATOMIC)
          return atomic (c, i);
      if (c && !gimple_call_builtin_p (c, BUILT_IN_NORMAL) && !gimple_call_internal_p (c))
        found.push_back ({ stmt, SplitPoint::OTHER, "", false });
      return;
    }
  bool small = !c || gimple_call_builtin_p (c, BUILT_IN_NORMAL);
  // A function with a fence in it does more than that.
  bool fence = small && d.effect.find ("fence") != std::string::npos;
  SplitPoint::Kind kind = fence ? SplitPoint::FENCE : c ? SplitPoint::OPAQUE : SplitPoint::SIGNAL;
  bool waits = false;
  if (!small || splits (stmt, &waits))
    found.push_back ({ stmt, kind, d.effect, waits });
}

/// An atomic access. Reductions are merged by such, at the end of a region; the runtime knows how.
void SplitPoints::atomic (gcall *c, const Memory::Item &item)
{
  class loop *l = gimple_bb (c)->loop_father;
  bool waits;
  if (gimple_call_internal_p (c) || strstr (callee_name (c), "compare_exchange") || !loop_outer (l)
      || !splits (c, &waits))
    return;
  std::string what = item.flags & ACCESS_WRITES ? "updates" : "reads";
  found.push_back ({ c, SplitPoint::SIGNAL, what + " memory atomically", waits });
}

/// May a fence or the like be split off where it is? `waits`: the loop does nothing else, until others let
/// it go on.
bool SplitPoints::splits (gimple *stmt, bool *waits)
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

} // namespace promp
