/* Other definitions of what is weak in chosen.c. */
#include "traps.h"

void chosen_out(double *x, double v) { *x = *x * 0.5 + v; }
void chosen_in_place(double *x, double v) { *x = v; }
double chosen_value(int i) { return a[i + 1]; }
void chosen_quiet(double *x) {
    printf("%g\n", *x = 2);
}
void chosen_row(double *to, const double *from) {
    double x = *to;
    *to = *from;
    c[0] = x;
}
