/* Loops with static schedules of many shapes: prints which thread executed what. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000, chunk = argc > 2 ? atoi(argv[2]) : 7;
    double *a = malloc(n * sizeof *a), s = 0;
    int *own = calloc(n, sizeof *own), *early = calloc(n, sizeof *early), last = -1;
    long t = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] = i * 0.5, own[i] = omp_get_thread_num();
#pragma omp parallel
    {
#pragma omp for schedule(static, chunk) reduction(+ : s) lastprivate(last) nowait
        for (int i = n - 1; i >= 0; i -= 2) s += a[i], last = i, early[i] = omp_get_thread_num();
#pragma omp for schedule(static, 3) collapse(2)
        for (unsigned long i = 0; i < 10; i++)
            for (unsigned j = 0; j < (unsigned)n / 10; j++) own[i * (n / 10) + j] += 10000 * omp_get_thread_num();
#pragma omp for simd reduction(+ : t)
        for (int i = 0; i < n; i++) t += own[i];
#pragma omp for ordered
        for (int i = 0; i < 3; i++) {
#pragma omp ordered
            printf("%d ", i);
        }
#pragma omp for linear(last : 1)
        for (int i = 0; i < n; i++) last += 1;
#pragma omp sections
        {
#pragma omp section
            s += 1;
#pragma omp section
            last += 1;
        }
    }
#pragma omp parallel for schedule(monotonic : dynamic, 2)
    for (int i = 0; i < n; i++) a[i] += 1;
#pragma omp distribute parallel for
    for (int i = 0; i < n; i++) a[i] += 1;
    /* Loops that GCC's calls of the runtime get wrong, or make of other constructs: they stay inline. */
    long down = 0;
#pragma omp parallel for reduction(+ : down)
    for (unsigned i = 4294967295u; i > 4294967290u; i--) down += i - 4294967290u;
#pragma omp parallel loop
    for (int i = 0; i < n; i++) early[i] += 1;
    printf("%ld ", down);
    unsigned long h = 0;
    for (int i = 0; i < n; i++) h = h * 31 + own[i] + 7 * early[i];
    printf("%g %d %ld %g %lu\n", s, last, t, a[n - 1], h);
    return 0;
}
