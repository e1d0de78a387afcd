// Where an access can be while a loop is executed (extent.cc).
#ifndef PROMP_EXTENT_H
#define PROMP_EXTENT_H

#include "memory/memory.h"

namespace promp {

/// The address of `ref` as an expression of constants and SSA names: base pointer plus offset in bytes. NULL_TREE: it has none in whole
/// bytes.
tree address (tree ref, tree *size);

/// A superset of the bytes that an access touches while a loop is executed once: `size` bytes at addresses from `first` - `down` to `first` + `up`.
/// Operands: constants and SSA names. `first` (sizetype) is computed as addresses are, modulo their width; the distances (double, not
/// negative) cannot overflow, whatever the numbers of iterations are.
struct Extent
{
  tree first, down, up, size;
};

/// Computes extents in front of the loop `around`, by statements that are appended to `seq`.
class Extents
{
public:
  Extents (class loop *around, gimple_seq *seq) : around_ (around), seq_ (seq) {}
  /// False: it is not known.
  bool of (const Memory::Item &, const Memory &, Extent *out);
  /// True if the two may have bytes in common.
  tree may_meet (const Extent &a, const Extent &b);
  /// The value of an expression.
  tree emit (tree expr);

private:
  /// Values of an expression: what it has in the first iteration of everything, as an integer of the addresses' width that holds the value
  /// itself (not only modulo the width of the expression's type), and how far others can be from it.
  struct Range
  {
    tree first, down, up;
    bool small; ///< a sum of a few values of 32 bits
  };
  bool range (tree expr, Range *);
  bool operation (enum tree_code, tree type, tree x, tree y, Range *);
  bool induction (tree name, Range *);
  tree iterations (class loop *);
  tree fixed (tree expr);
  tree wide (tree expr);
  tree sum (tree a, tree b);
  tree product (tree a, tree b);
  tree number (tree integer);
  void scale (Range *, tree factor);

  class loop *around_;
  gimple_seq *seq_;
  basic_block bb_ = nullptr; ///< of the access
  unsigned steps_ = 0;
};

} // namespace promp
#endif
