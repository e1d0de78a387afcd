// What a verdict assumes of functions of other units (assume.cc).
#ifndef PROMP_ASSUME_H
#define PROMP_ASSUME_H

#include "memory/memory.h"
#include "segments/segment.h"
#include "undo/undo.h"

namespace promp {

/// Adds to the segment what the calls of `stmt` may do.
void assume (Segment &s, uint32_t node, gimple *stmt, const std::vector<Foreign> &calls, Memory &memory);

/// Inserts, in front of calls, the saving of what they turn out to write through their arguments.
void save_in_front (Segment &s);

/// Notes the assumptions under which the segment's verdict holds; the result is for `mark`. `where`:
/// "file:line".
unsigned assumptions (const Segment &s, const Memory &memory, const Undo &undo, function *fn,
                      const std::string &where);

/// Writes the summaries of the unit's functions and the assumptions (join.cc).
void write_proofs ();

} // namespace promp
#endif
