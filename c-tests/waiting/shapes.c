/* shapes.c SHAPE N TIMES: loops whose iterations wait for each other, updated in place: by depend clauses (a
   cell, rows of unsigned numbers, three loops deep, behind work that is idempotent), by ordered sections, and
   with output or loops of their own between two waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void cells(double *a, int n) {
#pragma omp parallel for ordered(2) schedule(static, 1)
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            a[i * n + j] = 0.5 * a[i * n + j] + 0.3 * a[(i - 1) * n + j] + 0.19 * a[i * n + j - 1];
#pragma omp ordered depend(source)
        }
}
static void rows(double *a, unsigned long n) {
#pragma omp parallel for ordered(1) schedule(dynamic)
    for (unsigned long i = 1; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
        for (unsigned long j = 1; j < n; j++)
            a[i * n + j] = 0.5 * a[i * n + j] + 0.3 * a[(i - 1) * n + j] + 0.19 * a[i * n + j - 1];
#pragma omp ordered depend(source)
    }
}
static void deep(double *a, int n) {
#pragma omp parallel for ordered(3)
    for (int i = 1; i < n; i++)
        for (int h = 0; h < 2; h++)
            for (int j = 1; j < n; j++) {
#pragma omp ordered depend(sink : i - 1, h, j)
                a[i * n + j] = 0.6 * a[i * n + j] + (h ? 0.3 * a[(i - 1) * n + j] : 1);
#pragma omp ordered depend(source)
            }
}
static void into(double *restrict a, const double *restrict f, int n) {
#pragma omp parallel for ordered(2)
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
#pragma omp ordered depend(sink : i - 1, j)
            a[i * n + j] = 0.6 * f[i * n + j] + 0.3 * a[(i - 1) * n + j];
#pragma omp ordered depend(source)
        }
}
static void turns(double *a, int n) {
    double last = 1;
#pragma omp parallel for ordered schedule(static, 3)
    for (int i = 1; i < n; i++) {
        double s = 0;
        for (int j = 1; j < n; j++) s += a[i * n + j] = 0.9 * a[i * n + j] + 1;
#pragma omp ordered
        last = 0.5 * last + s / n, a[i * n] += last;
    }
    a[0] += last;
}
static void told(double *a, double *f, int n) {
#pragma omp parallel for ordered(1) schedule(static, 2)
    for (int i = 1; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
        for (int j = 1; j < n; j++) a[i * n + j] += 0.3 * a[(i - 1) * n + j];
        if (i % 64 == 0) printf("row %d\n", i), fflush(stdout);
#pragma omp ordered depend(source)
        for (int j = 1; j < n; j++) f[i * n + j] *= 0.7;
    }
}
int main(int argc, char **argv) {
    const char *shape = argc > 1 ? argv[1] : "cells";
    int n = argc > 2 ? atoi(argv[2]) : 100, times = argc > 3 ? atoi(argv[3]) : 1;
    double *a = malloc(n * n * sizeof *a), *f = malloc(n * n * sizeof *f), s = 0;
    for (int i = 0; i < n * n; i++) a[i] = i % 17, f[i] = i % 5;
    for (int t = 0; t < times; t++) {
        if (!strcmp(shape, "cells")) cells(a, n);
        if (!strcmp(shape, "rows")) rows(a, n);
        if (!strcmp(shape, "deep")) deep(a, n);
        if (!strcmp(shape, "into")) into(a, f, n);
        if (!strcmp(shape, "turns")) turns(a, n);
        if (!strcmp(shape, "told")) told(a, f, n);
    }
    for (int i = 0; i < n * n; i++) s += (a[i] + f[i]) * (i % 7);
    printf("%s %.15e\n", shape, s);
}
