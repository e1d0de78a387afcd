// Two versions of a loop: one that saves old values, and one as it was (versions.cc).
#ifndef PROMP_VERSIONS_H
#define PROMP_VERSIONS_H

#include "promp-plugin.h"
#include "cfgloop.h"

namespace promp {

/// Larger loops are seldom slowed down by what is done in front of their parts; twice their code would be
/// much. Innermost ones, in a loop with a flag, are.
enum { LARGE = 300, INNERMOST_LARGE = 1000 };
/// Can the loop be compiled twice? It must have fewer statements than `too_many`.
bool can_have_versions (class loop *, unsigned too_many = LARGE);
/// Makes `l` the version that is executed if `flag` is not 0, and a copy the other one. `l` goes on as the
/// copy, behind any of its iterations, when the runtime decides that `site` is not to save any longer.
/// Returns the copy.
class loop *make_versions (class loop *l, tree flag, tree site);
/// Else: can it have a flag?
bool can_have_flag (class loop *);
/// Makes the flag: a variable that is set as long as `l` is to save. It is `flag` at first, and cleared
/// behind the iteration in which the runtime decides that `site` is not to save any longer.
tree make_flag (class loop *l, tree flag, tree site);
/// A copy of `l` that is executed if `flag`, which `l` does not change, is 0.
class loop *make_copy (class loop *l, tree flag);
/// Leaves no saving in a loop, no additions that are noted, nor save points: these are seldom executed, and
/// what follows them in the loop could not be executed again either. `all`: nor what is saved in front of
/// calls of other units' functions. The loop must be entered by work only that is not executed again.
void strip (class loop *l, bool all);
/// Is there saving in the loop?
bool saves (class loop *l);

} // namespace promp
#endif
