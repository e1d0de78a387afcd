// Places that a function touches, as its callers would write them (outside.cc).
#ifndef PROMP_OUTSIDE_H
#define PROMP_OUTSIDE_H

#include "promp-plugin.h"
#include <vector>

namespace promp {

/// `ref`, a reference to memory in `fn`, with the function's parameters as its only variables; NULL_TREE if it has others. The result lasts.
tree in_parameters (function *fn, tree ref);
/// Such a reference as it is meant at a call of the function that has these parameters; NULL_TREE if an argument that it needs is gone.
tree in_arguments (const std::vector<tree> &parameters, tree ref, gcall *call);
/// Keeps `t` from the garbage collector.
void keep (tree t);
/// Keeps what `in_parameters` has returned from the garbage collector.
void keep_references ();

} // namespace promp
#endif
