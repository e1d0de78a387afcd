// Functions that save what they write by themselves (inside.cc).
#ifndef PROMP_INSIDE_H
#define PROMP_INSIDE_H

#include "memory/memory.h"
#include <functional>

namespace promp {

/// What a function writes is saved in it, if its word says so: bit k + 1 for what its parameter k leads to,
/// the first bit for everything else.
unsigned bit_of (int parameter);
/// Will the function, which makes no runtime calls, save what it writes, or note that it does not?
bool saves_inside (function *fn);
/// The function's word, a variable; null: its code has no use for one.
tree word_inside (tree decl);
/// Segments of this unit need these bits.
void need_inside (tree decl, unsigned bits);
/// Puts the saving into the function.
void save_inside (function *fn);
/// Has that been done?
bool is_saved_inside (tree decl);

} // namespace promp
#endif
