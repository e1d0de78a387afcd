// What loops write without gaps (whole.cc).
#ifndef PROMP_WHOLE_H
#define PROMP_WHOLE_H

#include "memory/pointers.h"
#include "cfgloop.h"
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace promp {

/// A nest of loops that writes `bytes` at `base` + `first` + the sum of stride times each number less than
/// count, over all levels, whenever it is executed. Expressions (of sizetype) have SSA names of the function
/// as operands. Whether it reads what it writes is another matter.
struct Nest
{
  gimple *store;
  std::set<unsigned> objects; ///< which of them it may be
  tree base;                  ///< an SSA name or an address
  tree first;
  HOST_WIDE_INT bytes;
  std::vector<std::pair<tree, tree>> levels;
  gimple *start; ///< of the worksharing loop that it is; null: serial
  basic_block header;
  std::set<basic_block> blocks; ///< of the whole of it
};

/// The nests of the function, whose loops are known. `comes_back`: does a call of this function of the unit?
std::vector<Nest> nests_of (function *fn, Pointers &pointers, const std::function<bool (tree)> &comes_back);

} // namespace promp
#endif
