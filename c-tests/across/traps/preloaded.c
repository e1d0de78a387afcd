/* Other definitions of what is in shared.c, and of what is C's. */
#include "traps.h"
#include <stdlib.h>
#include <string.h>

void shared_out(double *x, double v) { *x += v; }
double shared_value(double x) {
    static double sum;
    return sum += x;
}
double *shared_row(int n) {
    static double row[3];
    return n == 3 ? row : 0;
}
void shared_pair(double *x, double *y) {
    double z = *x;
    *x = *y, *y = z;
}
void shared_inner(double *x, double v) { *x = *x + v; }

void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    static char *at, other[64];
    for (size_t i = 1; i < n; i++)
        for (at = (char *)base + i * size; at > (char *)base && compare(at - size, at) > 0; at -= size) {
            memcpy(other, at, size);
            memcpy(at, at - size, size);
            memcpy(at - size, other, size);
        }
}
