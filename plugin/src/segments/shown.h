// Calls that show values, and do nothing else with them (shown.cc).
#ifndef PROMP_SHOWN_H
#define PROMP_SHOWN_H

#include "memory/uses.h"

namespace promp {

/// The name that a call is linked by; empty: it is not known.
const char *linked_name (gimple *call);
/// The routine that is asked for the number of threads, or of the thread (omp_get_...); null: something else.
const char *asked_routine (gimple *call);

/// Does the call show its arguments on standard output or error, and nothing else? The stream and the format
/// are the same whatever is shown.
bool shows (const Uses &uses, gcall *call);
/// Does it return the stream?
bool returns_stream (gcall *call);

} // namespace promp
#endif
