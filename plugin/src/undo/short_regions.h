// Regions and taskloops that may go without save points (short_regions.cc).
#ifndef PROMP_SHORT_REGIONS_H
#define PROMP_SHORT_REGIONS_H

#include "promp-plugin.h"

namespace promp {

/// Has the runtime asked in front of each region and taskloop that the current function encounters whether it
/// is to have save points.
void ask_of_regions ();

} // namespace promp
#endif
