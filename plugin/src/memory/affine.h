// What is known exactly of a loop: how often, by which steps (affine.cc).
#ifndef PROMP_AFFINE_H
#define PROMP_AFFINE_H

#include "promp-plugin.h"

namespace promp {

/// How often control goes back to the start of `l` before it leaves by `exit`; NULL_TREE: unknown. Where that rests on an assumption (that n
/// is not the largest integer, say) it is checked when the program runs: without it, more often than anything can be.
tree repetitions (class loop *l, edge exit, bool every_iteration);
/// How often `bb`, which is executed in every iteration, is executed when the loop is entered once; NULL_TREE: unknown.
tree executions (class loop *l, basic_block bb);
/// Can control leave the loop in the middle?
bool leaves_early (class loop *l);
/// `expr` as it evolves in `l`: its value in the first iteration and its step, both computed outside of it.
bool affine (class loop *l, tree expr, tree *first, tree *step);

} // namespace promp
#endif
