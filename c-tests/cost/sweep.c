/* Gauss-Seidel sweeps of a grid: a doacross nest, each cell behind its upper and left neighbours. */
#include <stdio.h>
#include <stdlib.h>

static void sweep(double *a, const double *f, int n) {
#pragma omp parallel for ordered(2) schedule(static, 1)
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            double *p = a + (long) i * n + j;
            *p = 0.25 * (p[-n] + p[-1] + p[1] + p[n] - f[(long) i * n + j]);
#pragma omp ordered depend(source)
        }
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200, times = argc > 2 ? atoi(argv[2]) : 10;
    double *a = malloc(sizeof(double) * n * n), *f = malloc(sizeof(double) * n * n), s = 0;
    for (long i = 0; i < (long) n * n; i++) a[i] = i % 17, f[i] = (i % 5 - 2) * 1e-3;
    for (int t = 0; t < times; t++) sweep(a, f, n);
    for (long i = 0; i < (long) n * n; i += 7) s += a[i] * (i % 11);
    printf("%.12e\n", s);
}
