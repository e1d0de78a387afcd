// What the runtime joins: summaries and assumptions (join.cc).
#ifndef PROMP_JOIN_H
#define PROMP_JOIN_H

#include "memory/foreign.h"
#include <set>
#include <string>
#include <utility>

namespace promp {

/// Something that a segment, or a function that it calls, does if the function is like that.
struct Assumed
{
  enum Kind : unsigned
  {
    LOCAL = ACTS_ITSELF,
    READS = ACTS_READS, ///< call `call`, behind its argument; the first `bytes` bytes do not count
    WRITES = ACTS_WRITES,
    READS_ELSEWHERE = ACTS_READS_ELSEWHERE,
    WRITES_ELSEWHERE = ACTS_WRITES_ELSEWHERE
  } kind = LOCAL;
  unsigned call = 0, argument = 0;
  HOST_WIDE_INT bytes = 0;
  tree slot = NULL_TREE; ///< of WRITES: see Actor
};

/// One that takes part in pairs.
struct Actor
{
  Assumed what;
  tree global = NULL_TREE; ///< it is this variable that it touches; else what no more is known of
  bool saved = false; ///< the old value of what it writes is saved whenever it is executed
  /// A variable that the runtime fills: what of the argument is saved in front of the call; null: nothing is.
  tree slot = NULL_TREE;
  unsigned line = 0;
  std::string name;
};

/// What must hold for a verdict.
struct Assumptions
{
  tree function;
  std::string where;
  unsigned verdict;
  bool fenced; ///< what calls write, and is not behind their arguments, others may wait for
  std::vector<Foreign> calls;
  std::vector<Actor> actors;
  /// A read and a write: if both happen, the written value must be saved
  std::set<std::pair<unsigned, unsigned>> pairs;
};

/// Keeps them to be written at the end of the unit; returns their number, from 1 on.
unsigned note (const Assumptions &a);
/// The name of the label in front of them.
std::string label_of (unsigned assumptions);

} // namespace promp
#endif
