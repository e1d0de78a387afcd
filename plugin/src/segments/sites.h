// What compiled code keeps for the runtime's decisions on saving (sites.cc).
#ifndef PROMP_SITES_H
#define PROMP_SITES_H

#include "layouts.h"
#include "promp-plugin.h"
#include <string>

namespace promp {

/// "file:line", for messages; of what has no place (compilers make such statements) that of the current
/// function.
std::string place_of (location_t where);
/// The address of a new site of the current function, in a state of layouts.h; `text`: "file:line: what", for
/// messages.
tree new_site (unsigned state, location_t where, const std::string &text);
/// The same of saving that is paid from a budget, or done whatever it costs (-fpromp-elements alone).
tree new_saving_site (location_t where, const std::string &text);
/// Its state, as an expression to be read anew each time.
tree state_of_site (tree site);
/// Is the calling thread in a region, as far as that can be told here? Else nothing is executed again, and
/// the runtime's answer is no. A condition, computed by `seq`.
tree is_in_region (gimple_seq *seq);
/// A call of the runtime: does it want old values saved? The result goes to `result`, if there is one.
gcall *ask (tree site, tree result);
/// Says that the loop goes on without saving.
gcall *leave_call (tree site);
/// A save point behind what the site stands for.
gcall *point_call (tree site);

} // namespace promp
#endif
