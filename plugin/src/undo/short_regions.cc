// Regions and taskloops whose save points may take more than they are worth, since they are so short: in
// front of each that a function encounters the runtime is asked, which keeps the answer for the call that
// follows. There is one version of the code: without save points nothing is saved, and static loops are dealt
// out, by the same calls.

#include "undo/short_regions.h"
#include "memory/memory.h"
#include "segments/sites.h"
#include "segments/tables.h"

namespace promp {

/// What the statement encounters, for messages; null: neither.
static const char *encountered (gimple *stmt)
{
  const char *name = callee_name (stmt);
  if (starts_with (name, "GOMP_taskloop"))
    return "save points of a taskloop";
  // A region in another goes by that.
  return starts_with (name, "GOMP_parallel") && !is_outlined (cfun) ? "save points of a region" : nullptr;
}

void ask_of_regions ()
{
  basic_block bb;
  FOR_EACH_BB_FN (bb, cfun)
    for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
      if (const char *text = encountered (gsi_stmt (i)))
        {
          bool tasks = starts_with (callee_name (gsi_stmt (i)), "GOMP_taskloop");
          tree site = new_saving_site (gimple_location (gsi_stmt (i)), text);
          gsi_insert_before (&i, gimple_build_call (saves_all_function (tasks), 1, site), GSI_SAME_STMT);
        }
}

} // namespace promp
