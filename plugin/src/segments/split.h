// What cannot be executed twice counts when it is executed (split.cc).
#ifndef PROMP_SPLIT_H
#define PROMP_SPLIT_H

#include "promp-plugin.h"
#include <map>
#include <set>
#include <string>

namespace promp {

/// What has been put into a function.
struct Split
{
  /// Marks that are always executed: a segment ends there. What comes up to the next save point is in no
  /// segment. With what they stand in front of.
  std::map<gimple *, std::string> marks;
  /// Save points that are only executed if something that cannot be executed twice may have been.
  std::set<gimple *> perhaps;
  /// Fences, with save points behind some and marks in front of them; save points behind, and marks in front
  /// of, other accesses by which threads wait for each other.
  std::set<gimple *> fences, signals;
  /// Have they been put there?
  bool done = false;
  /// Atomic additions that are taken back (additions.h).
  std::set<gimple *> additions;
  /// Statements that are no part of the program.
  std::set<gimple *> own;
};

/// Puts marks in front of what cannot be executed twice, and, if `fn` has segments, save points behind it.
Split split (function *fn, bool segments);

/// Does `fn` get marks, at calls of functions of other units, too?
bool gets_marks (function *fn);
/// Is the call one of those that are marked wherever they are: output, or what only ends by an exception?
bool is_marked (gcall *call);
/// Does it never return, but throw?
bool only_throws (gcall *call);
/// The variable that makes the marks in front of this unit's calls of `callee` be executed, and the save
/// points behind them; null: there are none.
tree word_of (tree callee);

} // namespace promp
#endif
