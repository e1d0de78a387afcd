// Loops whose iterations wait for each other (waits.cc).
#ifndef PROMP_WAITS_H
#define PROMP_WAITS_H

#include "promp-plugin.h"

namespace promp {

/// Has the runtime asked in front of such loops of the current function whether the waits in them are to be
/// save points. Where a loop saves, it gets another version without that.
void ask_across ();

} // namespace promp
#endif
