/* Other definitions of what is in shared.c. */
#include "traps.h"

void shared_out(double *x, double v) { *x += v; }
double shared_value(double x) {
    static double sum;
    return sum += x;
}
void shared_pair(double *x, double *y) {
    double z = *x;
    *x = *y, *y = z;
}
void shared_inner(double *x, double v) { *x = *x + v; }
