/* Functions that call functions of a third file, and of this one by way of it. */
#include "across.h"

void outer_out(double *to, double x) { out(to, twice(x)); }
void outer_bump(double *x) { inner_bump(x); twice(1); }
void __attribute__((noipa)) inner_bump(double *x) { bump(x); }
void outer_level(double x) { set_level(x); }
void walks(double *to, int n) { if (n > 0) { out(to, n); walks(to + 1, n - 1); } }
