// Entries for code that is not optimised (-O0, -Og): the passes that prove something do not run there. So no
// construct is without an entry, and a refusal says where it was and what would help.

#include "memory/memory.h"
#include "memory/summary.h"
#include "segments/tables.h"
#include "ssa.h"
#include "tree-cfg.h"
#include <vector>

namespace promp {
namespace {

const pass_data DATA = { GIMPLE_PASS, "promp_plain", OPTGROUP_OMP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0 };

struct Plain : gimple_opt_pass
{
  Plain () : gimple_opt_pass (DATA, g) {}
  bool gate (function *) final override { return flag_openmp && (!optimize || optimize_debug); }

  unsigned execute (function *fn) final override
  {
    std::vector<gimple *> calls;
    basic_block bb;
    FOR_EACH_BB_FN (bb, fn)
      for (gimple_stmt_iterator i = gsi_start_bb (bb); !gsi_end_p (i); gsi_next (&i))
        if (is_save_point (gsi_stmt (i)) && !(gimple_call_flags (gsi_stmt (i)) & ECF_NORETURN))
          calls.push_back (gsi_stmt (i));
    if (is_outlined (fn))
      calls.push_back (nullptr);
    for (gimple *call : calls)
      {
        location_t where = call ? gimple_location (call) : UNKNOWN_LOCATION;
        if (LOCATION_LINE (where) <= 0)
          where = DECL_SOURCE_LOCATION (fn->decl);
        mark (call, fn, VERDICT_OPAQUE, Freedom (), where,
              "opaque: built without optimisation, so that nothing is proved (-O1 or more)", 0);
      }
    return 0;
  }
};

} // namespace

opt_pass *make_plain_pass () { return new Plain; }
} // namespace promp
