/* Calls odd, which calls it. */
#include "across.h"
void even(double *to, int n) { if (n > 0) odd(to, n - 1); else *to = 2; }
