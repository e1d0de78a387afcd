// Variables by which programs wait for each other (flags.cc).
#ifndef PROMP_FLAGS_H
#define PROMP_FLAGS_H

#include "memory/memory.h"
#include "segments/segment.h"
#include "segments/split.h"

namespace promp {

/// May others wait until what `key` stands for (a variable, or what a pointer leads to) changes, by reading
/// it again and again between fences?
bool may_be_flag (tree key);
/// Notes what conditions of the function depend on, for `may_be_flag`.
void note_conditions (function *fn);
/// Programs wait for each other by fences around plain accesses, too. What was written between fences, or
/// between a fence and another such access, cannot be written again if it may be what others wait for:
/// they may have written it since. Adds that to the effects of the function's segments.
void doubt_flags (std::vector<Segment> &segments, const Split &split, const Memory &memory);

} // namespace promp
#endif
