// Addresses and numbers as sums of the variables of loops (loop_sums.cc).
#ifndef PROMP_LOOP_SUMS_H
#define PROMP_LOOP_SUMS_H

#include "memory/counters.h"
#include "fold-const.h"
#include <map>

namespace promp {

/// A sum of loops' variables, each times a factor, and the rest; all of sizetype.
struct Sum
{
  std::map<tree, tree> terms;
  tree rest = size_zero_node;
};

inline tree plus (tree a, tree b) { return fold_build2 (PLUS_EXPR, sizetype, a, b); }
inline tree minus (tree a, tree b) { return fold_build2 (MINUS_EXPR, sizetype, a, b); }
inline tree times (tree a, tree b) { return fold_build2 (MULT_EXPR, sizetype, a, b); }

/// Sums as they are seen from one block. Numbers are taken for what they are: see whole.cc.
class LoopSums
{
public:
  explicit LoopSums (Counters &counters) : counters_ (counters) {}

  /// For `bb` from here on.
  void seen_from (basic_block bb) { bb_ = bb, steps_ = 0; }
  /// Where the pointer `p` points, without what is added to it: that is added to `sum`. NULL_TREE: not known.
  tree root (tree p, Sum *sum);
  /// Adds `e` times `factor` to `sum`. A value is what it is as an integer, not modulo its type's width.
  bool part (tree e, Sum *sum, tree factor);

private:
  bool expand (tree e, Sum *out);
  bool operation (enum tree_code code, tree type, tree x, tree y, tree whole, Sum *out);

  Counters &counters_;
  basic_block bb_ = nullptr;
  unsigned steps_ = 0;
};

} // namespace promp
#endif
