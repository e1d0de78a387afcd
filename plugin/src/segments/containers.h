// Functions of the C++ library on nodes of containers (containers.cc).
#ifndef PROMP_CONTAINERS_H
#define PROMP_CONTAINERS_H

#include "promp-plugin.h"
#include <string>

namespace promp {

/// The function by which `call`, if it is one of qsort, compares elements; null: it is none, or that is not
/// known.
tree compared_by (gcall *call);
/// Does it call one of them? Whether it is the C++ library's is seen when the program is loaded.
bool is_of_containers (gimple *stmt);
/// Has the runtime save what it writes, in front of the call.
void save_in_containers (gimple *stmt);
/// Is `name` the stand-in of such a function?
bool is_of_containers (const std::string &name);
/// Writes its code.
void write_of_containers (const std::string &name);

} // namespace promp
#endif
