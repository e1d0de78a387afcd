// Calls of functions whose bodies are in other units (foreign.cc).
#ifndef PROMP_FOREIGN_H
#define PROMP_FOREIGN_H

#include "layouts.h"
#include "promp-plugin.h"
#include <vector>

namespace promp {

/// What a call hands over, as far as memory is concerned.
struct Argument
{
  /// Nothing that leads to memory; memory on the caller's own stack; what parameter `parameter` of the
  /// caller leads to; a variable; what the pointer `value` leads to; anything; what call number `parameter`
  /// of the caller's has returned.
  enum Kind : unsigned
  {
    NONE = HANDED_NOTHING,
    PRIVATE = HANDED_PRIVATE,
    PARAMETER = HANDED_PARAMETER,
    GLOBAL = HANDED_GLOBAL,
    POINTER = HANDED_POINTER,
    ANYTHING = HANDED_ANYTHING,
    RESULT = HANDED_RESULT
  } kind = NONE;
  int parameter = 0;
  /// Of GLOBAL: the variable; of POINTER: a pointer of the function that makes the call
  tree value = NULL_TREE;
  bool fixed = false; ///< it points `offset` bytes behind that
  HOST_WIDE_INT offset = 0;
  bool operator== (const Argument &o) const
  {
    return kind == o.kind && parameter == o.parameter && value == o.value && fixed == o.fixed
           && offset == o.offset;
  }
};

/// A call of a function of which nothing is known before the program is linked.
struct Foreign
{
  tree callee = NULL_TREE;
  unsigned line = 0;
  bool throws = false; ///< an exception that leaves it would be seen
  bool library = false; ///< it must be the library's own (heap.h, containers.h)
  bool must = true; ///< it is called whenever the function that calls it returns
  bool result = false; ///< what it returns may be what the function returns that calls it
  bool guarded = false; ///< wherever it is called, a mark can be made to be executed in front of it (split.h)
  int through = -1; ///< it is called through this parameter of the caller, and may be another one then; or -1
  std::vector<Argument> arguments;
};

/// The functions that `call` may call, of which the runtime knows what they do: one of another unit by its
/// name; through a pointer, functions of this unit whose addresses are taken. Whether the pointer leads to
/// one of these is seen when the call is made (split.cc).
std::vector<tree> foreign_targets (gcall *call);
/// Is there one?
inline bool is_foreign (gcall *call) { return !foreign_targets (call).empty (); }
/// The call of `target`, one of these, that `fn` makes, with its arguments as values of `fn`.
Foreign foreign (function *fn, gcall *call, tree target);
/// Do calls have results of others, by their numbers?
bool has_results (const std::vector<Foreign> &calls);
/// The parameter of `fn`, by its number, that `value` is; -1: none.
int number_of_parameter (function *fn, tree value);

/// What a function touches: memory that parameter `parameter` leads to, or the variable `global`.
struct Touch
{
  int parameter = -1;
  tree global = NULL_TREE;
  bool write = false;
  bool fixed = false; ///< in the bytes from `low` to `high` only
  bool must = false; ///< whenever the function returns, it has touched all of them
  HOST_WIDE_INT low = 0, high = 0;
};

} // namespace promp
#endif
