// Where a pointer of a function comes from (pointer_origin.cc).
#ifndef PROMP_POINTER_ORIGIN_H
#define PROMP_POINTER_ORIGIN_H

#include "memory/memory.h"

namespace promp {

/// Where a pointer comes from, besides a parameter.
enum { NO_PARAMETER = -1, OWN_MEMORY = -2, ONLY_ITSELF = -3 };
/// The parameter that `t`, a pointer, comes from; NO_PARAMETER, OWN_MEMORY.
int parameter_of (function *fn, tree t);
/// The call that has returned the block that `t` leads to; null: that is not known.
gcall *result_of (tree t);
/// The pointer that leads to an object of `m`; NULL_TREE: it is a variable, or anything.
tree object_pointer (const Memory &m, unsigned object);

} // namespace promp
#endif
