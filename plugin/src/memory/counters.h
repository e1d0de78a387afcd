// How the variables of a function's loops evolve (counters.cc).
#ifndef PROMP_COUNTERS_H
#define PROMP_COUNTERS_H

#include "memory/collapse.h"
#include <map>
#include <set>

namespace promp {

/// How a loop's variable evolves: from `first`, by `step` each time.
struct Counter
{
  tree first, end; ///< `end` - `first` + `more` of them where it is used, if `step` is 1
  HOST_WIDE_INT more, step;
  gimple *start; ///< all chunks of this worksharing loop together
  tree tile;     ///< `first`, this variable of a loop around, is one of a tile, which may end before `end`
};
/// The loop over a chunk's iterations of a collapsed nest, perhaps.
struct Nested
{
  bool is_known = false, is_one = false;
  gimple *start = nullptr;
  Collapsed of;
};

class Counters
{
public:
  explicit Counters (function *fn);

  /// From now on seen from `bb`: of loops around it, and whether their ends are in front of it.
  void seen_from (basic_block bb) { bb_ = bb, tiles_.clear (); }
  /// Is `name` the variable of a loop around: by the same positive number more each time? `in_front`: it is
  /// seen from where the test whether it goes on is still to come.
  bool evolves (tree name, Counter *counter = nullptr, bool *in_front = nullptr);
  /// The loop of a collapsed nest whose variable `name` is; null: it is none.
  const Dimension *dimension (tree name);
  /// The collapsed nest that `l` executes, if `dimension` has told of one.
  const Nested &nested (class loop *l) { return nested_[l]; }
  /// A variable of `l` that counts its iterations.
  tree variable_of (class loop *l);
  /// Is `l` left where its tile ends, or all, whichever comes first?
  bool is_tiled (class loop *l) const { return tiles_.count (l); }

private:
  /// While less than `high`, or LE_EXPR, or another one (what begins below it and goes on by one).
  struct Limit
  {
    tree high;
    enum tree_code stays;
  };

  bool is_limited (edge exit, tree name, tree next, tree *high, enum tree_code *stays, bool *ahead);
  bool is_behind (basic_block of);
  bool is_tile (tree first, Limit x, Limit y, Counter *counter);
  HOST_WIDE_INT step_of (tree name);

  bool is_whole (Counter *counter, enum tree_code stays) const;

  std::vector<gimple *> starts_; ///< calls that begin worksharing loops
  std::map<class loop *, Nested> nested_;
  std::set<class loop *> tiles_; ///< loops that are left by two tests
  basic_block bb_ = nullptr;
};

/// The loop whose variable `name` is.
class loop *loop_of (tree name);
/// Is `whole` the loop over the chunks of the worksharing loop that `start` begins, each of which executes
/// `one`?
bool is_chunks_loop (class loop *whole, class loop *one, gimple *start);

} // namespace promp
#endif
