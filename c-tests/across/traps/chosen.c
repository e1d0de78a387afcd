/* Definitions that the linker may replace (replaced.c). */
#include "traps.h"

__attribute__((weak)) void chosen_out(double *x, double v) { *x = v; }
__attribute__((weak)) void chosen_in_place(double *x, double v) { *x += v; }
__attribute__((weak)) double chosen_value(int i) { return b[i]; }
__attribute__((weak)) void chosen_quiet(double *x) { *x = 2; }
__attribute__((weak)) void chosen_row(double *to, const double *from) { *to = *from; }
void calls_chosen(double *x, double v) { chosen_out(x, v); }
