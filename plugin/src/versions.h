// Two versions of a loop: one that saves old values, and one as it was (versions.cc).
#ifndef PROMP_VERSIONS_H
#define PROMP_VERSIONS_H

#include "promp-plugin.h"
#include "cfgloop.h"

namespace promp {

/// Can the loop be compiled twice?
bool can_have_versions (class loop *);
/// Makes `l` the version that is executed if `flag` is not 0, and a copy the other one. `l` goes on as the
/// copy, behind any of its iterations, when the runtime decides that `site` is not to save any longer.
/// Returns the copy.
class loop *make_versions (class loop *l, tree flag, tree site);

} // namespace promp
#endif
