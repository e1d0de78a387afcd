/* Who calls whom: pointers, tables of them, second names, comparisons for qsort. */
#include "traps.h"
#include <stdlib.h>

static void (*acting)(double *) = bump;
static int compared;

double apply(double (*f)(double), double x) { return f(x); }
void act_on(const struct acts *acts, double *x) { acts->act(x); }
void set_act(void (*f)(double *)) { acting = f; }
void act(double *x) { acting(x); }
void bump(double *x) { *x += 1; }
void also_bump(double *x) __attribute__((alias("bump")));
void sort_three(double *x) { qsort(x, 3, sizeof *x, compare); }
int compare(const void *x, const void *y) {
    double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}
int compare_and_count(const void *x, const void *y) {
    compared++;
    return compare(x, y);
}
double half(double x) { return x / 2; }
double third(double x) { return x / 3; }
void in_turn(double *x, int n) {
    static void (*const turns[2])(double *) = { bump, also_bump };
    turns[n & 1](x);
}
void there(double *x) { *x = 1; }
