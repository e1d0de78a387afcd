/* What loops.c calls. */
#include "across.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

double level = 1;
int count;
_Thread_local int turns;
static double *kept[N];

double twice(double x) { return 2 * x; }
void out(double *to, double x) { *to = x + 1; }
void relax(double *x, int times) { for (int i = 0; i < times; i++) *x = 0.5 * (*x + 2 / *x); }
void bump(double *x) { *x += 1; }
void pair_sum(double *x) { x[0] = x[0] + x[1]; }
void shift(double *x) { x[0] = x[1]; }
void keep(double *x, int i) { kept[i] = x; }
void through_kept(int i) { *kept[i] += 1; }
void tick(void) { count++; }
void set_level(double x) { level = x; }
double get_level(void) { return level; }
double get_a(int i) { return a[i]; }
double get_b(int i) { return b[i]; }
double own_count(void) { static double n; return n += 1; }
void print(double x) { if (x > 1e300) printf("%g\n", x); }
void copy(double *to, const double *from) { *to = *from; }
void fill(double *row, double x, int n) { for (int i = 0; i < n; i++) row[i] = x; }
double sum(const double *row, int n) { double s = 0; for (int i = 0; i < n; i++) s += row[i]; return s; }
void scale(double *row, int n) { for (int i = 0; i < n; i++) row[i] *= 1.5; }
void volatile_write(double *to) { *(volatile double *)to = 1; }
void atomic_add(double *to) {
#pragma omp atomic
    *to += 1;
}
void bump_number(uintptr_t at) { *(double *)at += 1; }
double get_number(uintptr_t at) { return *(double *)at; }
void bump_box(struct box x) { *x.at += 1; }
void bump_behind(double **row) { **row += 1; }
void out_behind(double **row, double x) { **row = x; }
double call_back(int i) { return back(i) + 1; }
double call_back_harmless(int i) { return back_harmless(i) + 1; }
void turn(void) { turns++; }
void root(double *to, double x) { *to = sqrt(x) + sin(x); }
double *slot(int i) { return &a[i]; }
void bump_all(int n, ...) {
    va_list v;
    va_start(v, n);
    while (n-- > 0) *va_arg(v, double *) += 1;
    va_end(v);
}
void complains(double *to, double x) {
    if (x < -1e300) abort();
    *to = x;
}
void copy_row(double *to, const double *from) { memcpy(to, from, M * sizeof *to); }
void maybe_bump(double *x, int yes) { if (yes) *x += 1; }
__attribute__((weak)) void chosen(double *x, double v) { *x = v; }
void calls_the_unknown_too(double *x) { unknown(x, 1); }
double with_scratch(double x) {
    double t[M];
    fill(t, x, M);
    return sum(t, M);
}
void last_of_two(double *first, double *second, double x) { *first = x; *second = *first; }
void calls_pointer(void (*f)(double *), double *x) { f(x); }
void swap(double *x, double *y) { double t = *x; *x = *y; *y = t; }
