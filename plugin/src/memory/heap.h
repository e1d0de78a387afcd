// Functions that allocate and free memory (heap.cc).
#ifndef PROMP_HEAP_H
#define PROMP_HEAP_H

#include "promp-plugin.h"
#include <set>

namespace promp {

/// Does it allocate a block: malloc, calloc, `operator new`?
bool allocates (gimple *stmt);
/// Does `stmt` free a block, or resize it? The runtime keeps the block until the next save point.
bool frees (gimple *stmt);
/// gfortran declares it with its parameters exchanged, so GCC's own test of the types fails.
bool is_realloc (gimple *stmt);
/// Is it `operator new` or `operator delete`, of a form that the runtime can stand in for, and not this
/// unit's own? Whether it is the C++ library's is seen when the program is loaded.
bool is_operator (gimple *stmt);
bool is_operator (tree function);
/// Does `t` come from allocations (or is null) only? Collects the names on the way.
bool comes_from_allocations (tree t, std::set<tree> &names);
/// Does `t` lead to a block that its function has allocated, on every way (or is null)?
bool is_allocated (tree t);
/// Has the runtime free the block, or resize it; `own`: the block has been allocated by the same work.
void free_later (gcall *call, bool own);
/// Has the runtime allocate for `operator new`, if that is the C++ library's.
void allocate_by_runtime (gimple *stmt);

} // namespace promp
#endif
