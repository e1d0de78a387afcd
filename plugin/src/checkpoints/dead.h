// What is dead where a checkpoint may be taken (dead.cc).
#ifndef PROMP_DEAD_H
#define PROMP_DEAD_H

#include "promp-plugin.h"

namespace promp {

/// The pass that finds places, and says there what is dead.
opt_pass *make_dead_pass ();

} // namespace promp
#endif
