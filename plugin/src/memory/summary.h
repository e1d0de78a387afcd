// What the functions of the unit do (summary.cc).
#ifndef PROMP_SUMMARY_H
#define PROMP_SUMMARY_H

#include "memory/foreign.h"
#include "memory/memory.h"
#include "memory/pointed_functions.h"
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace promp {

/// Parameter k + BEHIND stands for what a pointer found behind parameter k leads to (an array behind its
/// descriptor).
const int BEHIND = 1000;

/// Keys of what a function writes, besides parameters: memory of which nothing is known, and variables.
enum { UNKNOWN_MEMORY = -1, VARIABLES = -2 };

/// What a call of a function does to memory that is not its own.
struct Summary
{
  std::string effect; ///< something that cannot be executed twice; else empty
  /// The same without what `foreign` and `touches` say: calls of other units' functions, and writes to
  /// variables.
  std::string own_effect;
  /// Output, which has marks in front of it (split.h), else empty: as `effect`, of which it is no part.
  std::string marked;
  std::vector<Foreign> foreign; ///< calls of functions of other units, arguments in terms of parameters
  std::vector<Touch> touches; ///< what it reads and writes through parameters (not BEHIND) and of variables
  std::string more_writes; ///< what it writes that is not among the touches; empty: nothing
  bool writes_unknown = false; ///< ... and is not behind a parameter, either
  bool saves = false; ///< it saves what it writes by itself, if it is told to (inside.h)
  /// Which bits of whose words are to be set for that, by what is written: a parameter, or one of the above.
  std::map<int, std::set<std::pair<tree, unsigned>>> saving;
  bool throws = false; ///< an exception may leave it that does not come out of `foreign`
  /// What it returns is a block that it has allocated, or the result of those of `foreign` that say so.
  bool makes = false;
  std::set<int> pointers; ///< parameters that are pointers by their types: only those are told of
  std::set<int> reads, writes; ///< parameters it reads and writes through
  /// Where it reads through a parameter, in terms of parameters (outside.h); a null among them: elsewhere,
  /// too.
  std::map<int, std::vector<tree>> places;
  bool reads_more = false; ///< it reads other memory, too, which is neither behind a parameter nor a variable
  bool runtime = false; ///< it makes runtime calls (itself, or in functions it calls)
};

/// The bits of the word of `fn` that have it save what `i` writes (inside.h); 0: its own memory.
unsigned bits_of_write (function *fn, const Memory &memory, const Memory::Item &i);
/// Does what `call` calls save what it writes by itself, if it is told to?
bool saves_by_itself (gcall *call);
/// The summary of `fn` itself; null if there is none.
const Summary *summary_of (function *fn);

/// The pass that looks at all functions, after interprocedural optimisation and points-to analysis.
opt_pass *make_summary_pass ();
/// The summary of what `call` calls; null if nothing is known. `argument(k)` of the result's parameter k
/// is found by argument_of.
const Summary *summary_of (gcall *call);
/// The argument that stands for parameter `k` of the summary, NULL_TREE if there is none any more.
tree argument_of (gcall *call, int k);
/// Does control always meet a runtime call in the called function?
bool always_meets_runtime (gcall *call);
/// What happens in the called function before its first runtime call that cannot be repeated; empty: nothing.
std::string before_first_call (gcall *call);
/// The same from the function's return to the next runtime call, in all its callers. Those that have marks in
/// front of their returns go no further.
std::string after_return (function *fn);
/// Does the called function make runtime calls that belong to its caller's region?
bool is_orphaned (gcall *call);
/// Why `fn` has a mark in front of each return, and calls of it save points behind them: what follows in
/// its callers is not known, or cannot be executed twice; empty: it has none.
std::string marked_return (function *fn);
/// Likewise, of the function that is called.
std::string marked_return (gcall *call);

/// Those of `calls`, made by the function that `call` calls, that can be made then, with their arguments as
/// values of `fn`, which makes `call`.
std::vector<Foreign> at_call (function *fn, gcall *call, const std::vector<Foreign> &calls);
/// Have all exceptions that may leave what `call` calls marks in front of them?
bool throws_behind_marks (gimple *call);
/// All functions of the unit with their summaries.
void for_all_summaries (const std::function<void (tree, const Summary &)> &f);

/// A place of a summary, as it is meant at a call; NULL_TREE: not known.
tree place_at (gcall *call, tree place);

/// Do the pointers that `fn` gets as parameters `i` and `j` lead to different objects at every call?
bool parameters_apart (function *fn, unsigned i, unsigned j);

} // namespace promp
#endif
