/* Jacobi iteration on a square: reads one grid, writes the other. Static by default, -DDYNAMIC=chunk for dynamic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define PRAGMA(x) _Pragma(#x)
#ifdef DYNAMIC
#define LOOP PRAGMA(omp for schedule(dynamic, DYNAMIC))
#else
#define LOOP PRAGMA(omp for)
#endif

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 128, steps = argc > 2 ? atoi(argv[2]) : 100;
    double *u = calloc((size_t)n * n, sizeof *u), *v = calloc((size_t)n * n, sizeof *v);
    double *sum = calloc(n, sizeof *sum);
    for (int i = 0; i < n; i++) u[i] = v[i] = sin(0.1 * i), u[(size_t)i * n] = v[(size_t)i * n] = cos(0.1 * i);
#pragma omp parallel
    for (int s = 0; s < steps; s++) {
        double *from = s % 2 ? v : u, *to = s % 2 ? u : v;
        LOOP
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                to[(size_t)i * n + j] = 0.25 * (from[(size_t)(i - 1) * n + j] + from[(size_t)(i + 1) * n + j] +
                                                from[(size_t)i * n + j - 1] + from[(size_t)i * n + j + 1]);
    }
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < n; j++) s += u[(size_t)i * n + j] * (j + 1);
        sum[i] = s;
    }
    double total = 0;
    for (int i = 0; i < n; i++) total += sum[i];
    printf("jacobi %.12e\n", total);
    return 0;
}
