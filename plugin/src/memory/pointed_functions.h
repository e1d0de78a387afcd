// Which functions calls through pointers may lead to (pointed_functions.cc).
#ifndef PROMP_POINTED_FUNCTIONS_H
#define PROMP_POINTED_FUNCTIONS_H

#include "promp-plugin.h"
#include <vector>

namespace promp {

/// Looks at all function pointers of the unit.
void note_function_pointers ();
/// The function that is called; through a pointer, too, if it can be one function only.
tree target_of (gcall *call);
/// Functions of the unit that `call`, through a pointer, may call: such whose addresses are taken, with
/// parameters and a result of these kinds. It may lead elsewhere, too.
std::vector<tree> pointed_targets (gcall *call);

} // namespace promp
#endif
