// What is said of a segment (verdict_text.cc).
#ifndef PROMP_VERDICT_TEXT_H
#define PROMP_VERDICT_TEXT_H

#include "segments/segment.h"
#include "undo/undo.h"
#include <string>
#include <vector>

namespace promp {

/// What the runtime call at a segment's start is of.
const char *construct (gimple *site);
/// The function's name, without what GCC appends to outlined functions.
std::string source_name (function *fn);
/// Is `site`, one of `calls`, that of which the construct is told? One line a construct. Of a combined
/// parallel construct there is no call that starts it.
bool is_reported (gimple *site, const std::vector<gimple *> &calls);
/// The call's own location, or else (loops) that of the first statement behind it that has one.
location_t location_of (const Segment &s, function *fn);
/// The verdict.
std::string describe (const Segment &s, const Memory &memory);
/// Why it cannot be said what the segment writes; empty if it can.
std::string why_untold (const Segment &s, const Memory &memory, const Undo &tell);

} // namespace promp
#endif
