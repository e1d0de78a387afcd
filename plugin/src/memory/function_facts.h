// What is known of the unit's functions: summary.cc finds it out, summary_lookup.cc tells it.
#ifndef PROMP_FUNCTION_FACTS_H
#define PROMP_FUNCTION_FACTS_H

#include "memory/summary.h"

namespace promp {

/// What is known of a function.
struct FunctionFacts
{
  Summary whole;
  bool passes = false; ///< there is a way through without a runtime call
  std::string before; ///< see before_first_call
  /// For each call in it of a function that makes runtime calls: what follows, up to the next runtime call
  /// or the return.
  struct Rest { tree callee; std::string effect; bool returns; };
  std::vector<Rest> rests;
  /// For each call in it: for each argument the parameter of this function it comes from, or -1; which
  /// pairs are apart.
  struct Call { tree callee; std::vector<int> from; std::set<std::pair<unsigned, unsigned>> apart; };
  std::vector<Call> calls;
  bool known_callers = false, outlined = false;
  bool orphaned = false; ///< of its runtime calls, some do more than begin a region
  bool may_mark = false; ///< it may have marks in front of its returns
  std::vector<tree> parameters;
};

/// By their declarations.
extern std::map<tree, FunctionFacts> known_functions;

} // namespace promp
#endif
