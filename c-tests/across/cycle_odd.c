/* Calls even, which calls it. */
#include "across.h"
void odd(double *to, int n) { if (n > 0) even(to, n - 1); else *to = 1; }
