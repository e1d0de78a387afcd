// The tables that the runtime reads (tables.cc).
#ifndef PROMP_TABLES_H
#define PROMP_TABLES_H

#include "segments/schedule.h"
#include <string>

namespace promp {

/// Notes the verdict (layouts.h) on the segment behind `site`, or, if that is null, on the one at the function's entry.
/// `assumptions`: under them a better verdict holds (join.h); 0: none.
void mark (gimple *site, function *fn, unsigned verdict, const Freedom &free, location_t where,
           const std::string &text, unsigned assumptions);

/// The declaration of the function that saves old values.
tree undo_function ();
/// ... and of the one that adds atomically, and notes what: (address, size, value).
tree add_function ();
/// ... and of the one that is told what is written.
tree wrote_function ();
/// ... and of the one that saves what is behind a pointer, as a slot says (join.cc): (pointer, slot).
tree saving_function ();
/// The declaration of the function that says whether a site (sites.h) is to save them.
tree saves_function ();
/// ... and of the one that says it of a loop whose iterations wait for each other.
tree saves_across_function ();
/// ... and of one that keeps it, of the region, or the taskloop (`tasks`), that is encountered next.
tree saves_all_function (bool tasks);
/// The variable that says where, from the thread pointer on, the address of the calling thread's words is.
tree thread_variable ();
/// ... and of the one that is told when a loop leaves its version that saves: (site).
tree leaves_function ();
/// A stand-in for another unit's function of this type, called as `name`.
tree stand_in_function (const char *name, tree type);
/// Stands for `free`, or (`resizes`) `realloc`; `own`: of a block that the same work has allocated.
/// The stand-in (heap.cc) `name` of an operator; `own`: for a block that the same work has allocated.
tree operator_function (const char *name, bool own);
tree freeing_function (bool resizes, bool own);
/// The declaration of what stands for omp_get_WHAT where the value is shown only (taint.h).
tree shown_function (const char *what);
/// `s` may call one, which another process has declared.
void note_shown (gimple *s);
/// Says that what nests of loops write is dead (dead.cc): (list).
tree written_function ();
/// ... that what comes of a program (foresee.h) is: (program, slots).
tree foreseen_function ();
/// ... and of the save point behind what cannot be executed twice: (site).
tree point_function ();
/// The declaration of what stands for a function of promp.h: does nothing when the runtime is not there.
tree runtime_function (const char *name, bool argument);

} // namespace promp
#endif
