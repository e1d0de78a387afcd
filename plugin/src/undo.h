// Saving old values before they are overwritten (undo.cc).
#ifndef PROMP_UNDO_H
#define PROMP_UNDO_H

#include "memory.h"
#include <map>

namespace promp {

class Undo
{
public:
  Undo (function *fn, Memory &memory, const std::vector<gimple *> &calls);
  /// The old value of what `stmt` writes to `place` must be saved.
  void want (gimple *stmt, unsigned place);
  /// Finds places for the calls, as far outside of loops as the writes are an exact grid of elements.
  void plan ();
  /// Was there a way?
  bool can (gimple *stmt) const;
  /// Inserts the calls.
  void insert ();

private:
  struct Dimension
  {
    tree count, stride;
  };
  struct Plan
  {
    bool possible = false;
    class loop *around = nullptr; ///< in front of this loop; null: in front of the statement
    tree start = NULL_TREE, size = NULL_TREE;
    std::vector<Dimension> dimensions; ///< innermost first
  };
  Plan plan_for (gimple *stmt, unsigned place) const;
  bool own_block (gimple *stmt, unsigned place, Plan &plan) const;
  bool has_call (class loop *) const;

  function *fn_;
  Memory &memory_;
  const std::vector<gimple *> &calls_;
  std::map<gimple *, unsigned> wanted_;
  std::map<gimple *, Plan> plans_;
};

} // namespace promp
#endif
