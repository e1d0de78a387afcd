// Accesses that fill a block (fills.cc).
#ifndef PROMP_FILLS_H
#define PROMP_FILLS_H

#include "segments/segment.h"
#include "undo/undo.h"

namespace promp {

/// 1 + the access that fills a block at the pointer that access `w` goes through. `sure`: on every way
/// from the segment's start to it. 0: there is none.
uint32_t cover (const Segment &s, size_t w, bool sure, const Memory &memory, Undo &undo);

} // namespace promp
#endif
