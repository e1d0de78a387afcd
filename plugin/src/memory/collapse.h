// Collapsed loops, and which way is taken (collapse.cc).
#ifndef PROMP_COLLAPSE_H
#define PROMP_COLLAPSE_H

#include "promp-plugin.h"
#include "cfgloop.h"
#include <vector>

namespace promp {

/// A loop of a collapsed nest: `variable` is `first`, and by `step` more each time, `count` times; of the
/// outermost one GCC has not kept the `end`.
struct Dimension
{
  tree variable, first, end, count;
  HOST_WIDE_INT step;
};

/// A collapsed nest, innermost loop first. All combinations of its variables' values are executed, each once,
/// if `condition` (of sizetype) is 1 and not 0, and each `count` is 1 at least.
struct Collapsed
{
  std::vector<Dimension> dimensions;
  tree condition = NULL_TREE;
};

/// Is `l` the loop over the iterations of a chunk that `counter` counts, `total` of all chunks together, of a
/// collapsed nest?
bool is_collapsed (class loop *l, tree counter, tree total, Collapsed *out);

/// 1 if control that is at `from` goes on over `to`, else 0: of sizetype. NULL_TREE: it is not known.
tree goes_over (edge to, basic_block from);
/// The two values of a PHI, and 1 (of sizetype) if it is the first one, else 0. False: there are more, or it
/// is not known.
bool chosen (gphi *phi, tree *one, tree *other, tree *is_one);

/// 1 of sizetype if `x` CODE `y`, else 0.
tree truth (enum tree_code code, tree x, tree y);
/// Without conversions from one integer type to another; `narrower`: such that lose bits, too.
tree without_conversions (tree t, bool narrower = false);

} // namespace promp
#endif
