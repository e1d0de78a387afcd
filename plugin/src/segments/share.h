// May what is lost of a chunk be executed by other threads? (share.cc)
#ifndef PROMP_SHARE_H
#define PROMP_SHARE_H

#include "promp-plugin.h"

namespace promp {
/// `site` asks for a chunk of a worksharing construct: does a chunk do the same whichever thread executes it?
bool is_share_of_team (function *fn, gimple *site);
} // namespace promp
#endif
