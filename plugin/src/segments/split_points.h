// What a function is split at: what cannot be executed twice (split_points.cc).
#ifndef PROMP_SPLIT_POINTS_H
#define PROMP_SPLIT_POINTS_H

#include "memory/memory.h"
#include <set>
#include <string>
#include <vector>

namespace promp {

/// A statement at which a segment is split, or which ends a group of such.
struct SplitPoint
{
  /// What a statement is: output (marked wherever it is); something else that cannot be executed twice; a
  /// call of a function of another unit; one of a function with marks in it; one of a function that has them
  /// in front of its returns; what ends a group.
  enum Kind { OUTPUT, OPAQUE, FENCE, SIGNAL, FOREIGN, MARKED, RETURNED, OTHER };
  gimple *stmt;
  Kind kind;
  std::string what;
  bool waits; ///< it stands in a loop that does nothing else, until others let it go on
};

/// Finds them in a function.
class SplitPoints
{
public:
  /// `additions`: atomic ones that are taken back.
  SplitPoints (function *fn, const std::set<gimple *> &additions) : memory_ (fn), additions_ (additions) {}
  void look (gimple *stmt);

  std::vector<SplitPoint> found;
  std::vector<gimple *> last; ///< calls that end the program

private:
  void atomic (gcall *c, const Memory::Item &item);
  bool splits (gimple *stmt, bool *waits);

  Memory memory_;
  const std::set<gimple *> &additions_;
};

} // namespace promp
#endif
