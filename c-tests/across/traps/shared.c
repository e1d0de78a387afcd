/* Functions of a shared library, for which a preloaded one may have others (preloaded.c). */
#include "traps.h"
#include <stdlib.h>

void shared_out(double *x, double v) { *x = v; }
double shared_value(double x) { return x * 2; }
double *shared_row(int n) { return calloc(n, sizeof(double)); }
void shared_pair(double *x, double *y) { *x = 1, *y = 2; }
void shared_inner(double *x, double v) { *x = v; }
void shared_through(double *x, double v) { shared_inner(x, v); }
