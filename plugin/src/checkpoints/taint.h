// Where the number of threads goes that a program asks for (taint.cc).
#ifndef PROMP_TAINT_H
#define PROMP_TAINT_H

#include "promp-plugin.h"

namespace promp {

/// Finds the calls whose values are shown only, and has them ask without being noted.
simple_ipa_opt_pass *make_shown_pass ();
/// Finds those again when all files are compiled at once.
opt_pass *make_shown_again_pass ();

} // namespace promp
#endif
