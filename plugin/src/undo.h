// Saving old values before they are overwritten (undo.cc).
#ifndef PROMP_UNDO_H
#define PROMP_UNDO_H

#include "memory.h"
#include <map>
#include <set>

namespace promp {

class Undo
{
public:
  Undo (function *fn, Memory &memory, const std::vector<gimple *> &calls);
  /// The old value of what `stmt` writes to `place` must be saved. `cover`: a call that has written a block at the same pointer
  /// before, in every segment in which the statement is: what lies in the block need not be saved. Null: none.
  void want (gimple *stmt, unsigned place, gimple *cover);
  /// Is saving possible in principle, but too expensive?
  bool is_too_expensive (gimple *stmt) const;
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
    bool possible = false, expensive = false;
    gimple *cover = nullptr;
    class loop *around = nullptr; ///< in front of this loop; null: in front of the statement
    tree start = NULL_TREE, size = NULL_TREE;
    std::vector<Dimension> dimensions; ///< innermost first
  };
  Plan plan_for (gimple *stmt, unsigned place) const;
  bool own_block (gimple *stmt, unsigned place, Plan &plan) const;
  bool has_call (class loop *) const;
  gimple_stmt_iterator outside (const Plan &p, gimple *stmt) const;

  function *fn_;
  Memory &memory_;
  const std::vector<gimple *> &calls_;
  struct Wish
  {
    unsigned place;
    gimple *cover;
  };
  std::map<gimple *, Wish> wanted_;
  std::map<gimple *, Plan> plans_;
};

} // namespace promp
#endif
