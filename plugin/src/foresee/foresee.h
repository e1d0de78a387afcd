// What is executed from a place on, for the runtime to go ahead (foresee.cc).
#ifndef PROMP_FORESEE_H
#define PROMP_FORESEE_H

#include "checkpoints/unit.h"

namespace promp {

/// A program for crates/foresee, and what its slots hold at the place.
struct Foresight
{
  std::vector<uint64_t> words;
  std::vector<tree> slots; ///< expressions of the place's function
};

/// The code from a place on: at the beginning of `bb`, or at `call`. False: there is none.
bool foresee (Unit &unit, Function &f, basic_block bb, gimple *call, Foresight *out);

} // namespace promp
#endif
