// Loops whose iterations wait for each other: doacross nests, and ordered sections in loops.
//
// Each wait and each post is a save point, which may take many times as long as what stands between two of
// them. In front of the outermost loop with these and no other runtime calls in it the runtime is asked
// whether they are to be. If not, none is up to the loop's end, and nothing in it is executed again. So
// where it saves old values it has a copy, chosen there once, without saving, marks and save points of ours.
//
//     flag = promp_saves_across (site)
//     if (flag) ── loop: saves; waits and posts are save points
//        └──────── copy: as GCC would have it

#include "undo/waits.h"
#include "undo/versions.h"
#include "memory/memory.h"
#include "memory/summary.h"
#include "segments/sites.h"
#include "segments/tables.h"
#include "ssa.h"
#include "cfgloop.h"
#include "tree-into-ssa.h"
#include <functional>
#include <vector>

namespace promp {
namespace {

/// A call by which iterations wait for each other?
bool waits_for_others (const char *name)
{
  return starts_with (name, "GOMP_doacross_") || !strcmp (name, "GOMP_ordered_start")
         || !strcmp (name, "GOMP_ordered_end");
}

/// A runtime call, or one that may come to such, that is none of these, nor a save point of ours?
bool may_meet_runtime (gimple *stmt)
{
  gcall *c = dyn_cast<gcall *> (stmt);
  if (!c || gimple_call_internal_p (c))
    return false;
  const char *name = callee_name (c);
  if (waits_for_others (name) || starts_with (name, "__promp_"))
    return false;
  if (is_save_point (c))
    return true;
  const Summary *s = summary_of (c);
  bool known = s && !s->runtime && s->foreign.empty () && s->effect.empty ();
  return !known && !gimple_call_builtin_p (c, BUILT_IN_NORMAL);
}

bool any_in (class loop *l, const std::function<bool (gimple *)> &is)
{
  bool any = false;
  basic_block *bbs = get_loop_body (l);
  for (unsigned k = 0; k < l->num_nodes && !any; k++)
    for (gimple_stmt_iterator i = gsi_start_bb (bbs[k]); !gsi_end_p (i) && !any; gsi_next (&i))
      any = is (gsi_stmt (i));
  free (bbs);
  return any;
}

/// The outermost such loops in `around`.
void collect (class loop *around, std::vector<class loop *> &found)
{
  for (class loop *l = around->inner; l; l = l->next)
    if (!any_in (l, [] (gimple *s) { return waits_for_others (callee_name (s)); }))
      continue;
    else if (any_in (l, may_meet_runtime))
      collect (l, found);
    else
      found.push_back (l);
}

/// Something that a copy would be without?
bool is_ours (gimple *stmt) { return starts_with (callee_name (stmt), "__promp_"); }

/// Leaves no questions, nor marks, in a copy in which nothing is saved.
void answer_no (class loop *l)
{
  basic_block *bbs = get_loop_body (l);
  for (unsigned k = 0; k < l->num_nodes; k++)
    for (gimple_stmt_iterator i = gsi_start_bb (bbs[k]); !gsi_end_p (i);)
      {
        gimple *stmt = gsi_stmt (i);
        if (strcmp (callee_name (stmt), "__promp_saves"))
          {
            gsi_next (&i);
            continue;
          }
        unlink_stmt_vdef (stmt);
        if (tree answer = gimple_call_lhs (stmt))
          gsi_replace (&i, gimple_build_assign (answer, integer_zero_node), false);
        else
          gsi_remove (&i, true);
      }
  free (bbs);
}

/// The first place in the loop's header, or behind it, that has a line.
location_t place_of_loop (class loop *l)
{
  location_t found = UNKNOWN_LOCATION;
  any_in (l, [&] (gimple *s) {
    if (LOCATION_LINE (gimple_location (s)) > 0 && !is_gimple_debug (s))
      found = gimple_location (s);
    return found != UNKNOWN_LOCATION;
  });
  return found;
}

} // namespace

void ask_across ()
{
  std::vector<class loop *> all;
  collect (current_loops->tree_root, all);
  for (class loop *l : all)
    {
      edge in = loop_preheader_edge (l);
      if (in->flags & EDGE_COMPLEX)
        continue;
      tree site = new_saving_site (place_of_loop (l), "save points where iterations wait for each other");
      tree flag = make_ssa_name (integer_type_node);
      gcall *call = gimple_build_call (saves_across_function (), 1, site);
      gimple_call_set_lhs (call, flag);
      gsi_insert_on_edge_immediate (in, call);
      if (!any_in (l, is_ours) || !can_have_versions (l, INNERMOST_LARGE))
        continue;
      class loop *copy = make_copy (l, flag);
      strip (copy, true);
      answer_no (copy);
    }
}

} // namespace promp
