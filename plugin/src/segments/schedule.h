// May the iterations of a static loop be dealt in another way? (schedule.cc)
#ifndef PROMP_SCHEDULE_H
#define PROMP_SCHEDULE_H

#include "memory/memory.h"
#include "segments/segment.h"

namespace promp {
/// What is proved of a static loop's iterations.
struct Freedom
{
  bool shared = false;  ///< what is lost of a chunk may be executed by any thread of the team
  bool dealt = false;   ///< any schedule will do
};
/// Of the loop that the call `site` starts; of a dynamic one also at calls for the next chunk. `all`: the
/// segments of its function, decided.
Freedom freedom_of (function *fn, const Memory &memory, const std::vector<Segment> &all, gimple *site);
} // namespace promp
#endif
