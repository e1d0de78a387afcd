// The directives of promp (directives.cc).
#ifndef PROMP_DIRECTIVES_H
#define PROMP_DIRECTIVES_H

#include "promp-plugin.h"

namespace promp {
/// Makes the pragmas known to the C and C++ compilers.
void register_directives ();
/// Complains of directives that are not allowed in `construct`.
void check_directives (gimple *construct);
} // namespace promp
#endif
