/* A stencil by taskloops: a line a task, from one array to another and back; and in place by tasks of a few
   lines. */
#include <stdio.h>
#include <stdlib.h>

static void step(const double *a, double *b, int n) {
#pragma omp taskloop grainsize(1)
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            long p = (long) i * n + j;
            b[p] = 0.2 * (a[p] + a[p - n] + a[p + n] + a[p - 1] + a[p + 1]);
        }
}
static void relax(double *a, const double *f, int n) {
#pragma omp taskloop num_tasks(32)
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) a[(long) i * n + j] = 0.9 * a[(long) i * n + j] + f[(long) i * n + j];
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200, times = argc > 2 ? atoi(argv[2]) : 10;
    double *a = malloc(sizeof(double) * n * n), *b = malloc(sizeof(double) * n * n), s = 0;
    double *f = malloc(sizeof(double) * n * n);
    for (long i = 0; i < (long) n * n; i++) a[i] = b[i] = i % 17, f[i] = (i % 5 - 2) * 1e-3;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < times; t++) {
        step(a, b, n);
        step(b, a, n);
        relax(a, f, n);
    }
    for (long i = 0; i < (long) n * n; i += 7) s += a[i] * (i % 11);
    printf("%.12e\n", s);
}
