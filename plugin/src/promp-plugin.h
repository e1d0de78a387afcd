// What the files of the plugin share.
#ifndef PROMP_PLUGIN_H
#define PROMP_PLUGIN_H

#include "gcc-plugin.h"
#include "tree.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "tree-pass.h"
#include "context.h"

namespace promp {

// g++ is of the GCC that the plugin is for.
#if __GNUC__ >= 14
/// The last statement of a block, which these no longer have a function for.
inline gimple *last_stmt (basic_block bb) { return gsi_stmt (gsi_last_nondebug_bb (bb)); }
#endif

/// Options: -fplugin-arg-promp_plugin-NAME[=VALUE].
struct Options {
  bool report = false; ///< print a verdict for each construct
  bool sdc = false; ///< say what chunks write, and mark the sections of kernels
  bool foresee = false; ///< hand over what comes behind places (foresee.h)
  bool elements = false; ///< save old values one by one even in inner loops
  unsigned budget = 0; ///< what sites say of -fpromp-budget (crates/values/src/save_budget.rs); 0: not given
};
extern Options options;

/// Makes statically scheduled loops visible: marks them before OpenMP lowering (visible.cc) ...
opt_pass *make_visible_pass ();
/// ... and gives the calls that come of it their right names (rename.cc).
opt_pass *make_rename_pass ();
/// Writes entries for code that is not optimised (plain.cc).
opt_pass *make_plain_pass ();
/// Proves replayability, saves old values, writes the tables (segments.cc).
opt_pass *make_segments_pass ();
/// Finds the sections of device kernels whose results are verified together (sections.cc).
opt_pass *make_sections_pass ();
/// Writes what the tables of this unit need once: registration and the call into the runtime (tables.cc).
void finish_unit ();

/// The schedule(static) loops travel through GCC's expansion as schedule(monotonic:dynamic, MARK | chunk).
const unsigned HOST_WIDE_INT MARK = HOST_WIDE_INT_UC (0x5052) << 48;
const unsigned HOST_WIDE_INT MARK_MASK = HOST_WIDE_INT_UC (0xffff) << 48;

} // namespace promp
#endif
