// Atomic additions that can be taken back (additions.cc).
#ifndef PROMP_ADDITIONS_H
#define PROMP_ADDITIONS_H

#include "promp-plugin.h"
#include <set>

namespace promp {

/// The atomic additions of a region's function that can be taken back, and done again, whatever the others
/// of its team do meanwhile. All of them, or none.
std::set<gimple *> additions_of (function *fn);

/// Makes an addition a call of the runtime, which notes what it adds.
void note_addition (gimple *addition);
/// Makes such a call an addition again.
void forget_addition (gimple_stmt_iterator *call);
/// Is it such a call?
bool is_noted_addition (gimple *stmt);

} // namespace promp
#endif
