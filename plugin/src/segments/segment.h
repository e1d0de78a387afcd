// A segment's control flow and accesses (segment.cc).
#ifndef PROMP_SEGMENT_H
#define PROMP_SEGMENT_H

#include "promp-plugin.h"
#include "layouts.h"
#include "segments/join.h"
#include <array>
#include <vector>

namespace promp {

/// One node of a segment: statements of a block, from `first` to a runtime call or the block's end.
struct Node
{
  basic_block bb;
  gimple_stmt_iterator first;
  gimple *terminator;
};

/// The code that can be executed between one runtime call and the next ones.
struct Segment
{
  static const uint32_t NONE = ~0u;
  gimple *site; ///< the call at its start; null: the function's entry
  std::vector<Node> nodes;
  std::vector<std::array<uint32_t, 2>> edges;
  std::vector<promp_access> accesses;
  std::vector<gimple *> statements; ///< of the accesses
  std::vector<promp_effect> effects;
  std::vector<uint32_t> asks;
  struct Saved
  {
    uint32_t write;
    bool outside;
    std::vector<uint32_t> meets;
  };
  std::vector<Saved> saved; ///< writes whose old values are needed
  std::vector<bool> sure; ///< has the access' block been filled on every way to it?
  promp_verdict verdict;
  /// What it does that cannot be executed twice, in parts of it that have marks in front of them; else empty.
  std::string parts;
  unsigned parts_line = 0;
  bool fenced = false; ///< others may wait for what it writes between its fences
  bool allocates = false; ///< what it stores of new blocks is different each time
  std::vector<Foreign> foreign; ///< calls of functions of other units
  std::vector<Assumed> assumed; ///< what accesses that are assumed stand for
  std::vector<std::pair<uint32_t, uint32_t>> pairs; ///< reads and writes, one at least assumed, that may meet

  /// The nodes that can be reached from some without going through one.
  std::vector<bool> reached (std::vector<uint32_t> from, uint32_t avoided) const;
  /// The node that is the whole block `bb`; 0: there is none.
  uint32_t node_of (basic_block bb) const;
  /// Do all ways from the segment's start to `to` lead through `through`?
  bool leads_through (uint32_t through, uint32_t to) const;
  /// Can the segment execute `bb` to its end twice?
  bool comes_back (basic_block bb) const;
  /// Can a use of `name` in the segment see a value from before it: is it reached without the name's definition?
  bool comes_in (tree name) const;
  /// Does `t` lead to a block that the segment has allocated, on every way (or is null)?
  bool is_new (tree t) const;
};

} // namespace promp
#endif
