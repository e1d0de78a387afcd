/* Sweeps of a square along its diagonals: a region for each, behind those of diagonals before. */
#include <stdio.h>
#include <stdlib.h>

static void plane(double *a, int n, int d) {
    int from = d > n - 1 ? d - n + 1 : 1, to = d < n ? d : n;
#pragma omp parallel for
    for (int i = from; i < to; i++) {
        double *p = a + (long) i * n + (d - i);
        *p = 0.3 * *p + 0.3 * p[-n] + 0.3 * p[-1];
    }
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200, times = argc > 2 ? atoi(argv[2]) : 10;
    double *a = malloc(sizeof(double) * n * n), s = 0;
    for (long i = 0; i < (long) n * n; i++) a[i] = i % 17;
    for (int t = 0; t < times; t++)
        for (int d = 2; d < 2 * n - 1; d++) plane(a, n, d);
    for (long i = 0; i < (long) n * n; i += 7) s += a[i] * (i % 11);
    printf("%.12e\n", s);
}
