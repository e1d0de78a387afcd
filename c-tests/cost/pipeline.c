/* Lower solves of planes, one behind the other: threads share the lines of a plane, each behind the one
 * before it in a pipeline of flags and flushes; the same with ordered sections; the same behind tasks. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void line(double *v, const double *up, int n) {
    for (int j = 1; j < n; j++) v[j] = 0.5 * v[j] + 0.3 * v[j - 1] + 0.19 * up[j];
}
static void flags(double *a, int planes, int n) {
    int *done = calloc(64 * 16, sizeof(int));
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int k = 0; k < planes; k++) {
            if (me > 0)
                for (int seen = 0; seen <= k;) {
#pragma omp flush
#pragma omp atomic read
                    seen = done[(me - 1) * 16];
                }
#pragma omp for schedule(static) nowait
            for (int i = 1; i < n; i++) line(a + ((long) k * n + i) * n, a + ((long) k * n + i - 1) * n, n);
#pragma omp flush
#pragma omp atomic write
            done[me * 16] = k + 1;
        }
    }
    free(done);
}
static void turns(double *a, int planes, int n) {
#pragma omp parallel
    for (int k = 0; k < planes; k++)
#pragma omp for ordered schedule(static) nowait
        for (int i = 1; i < n; i++)
#pragma omp ordered
            line(a + ((long) k * n + i) * n, a + ((long) k * n + i - 1) * n, n);
}
static void inner(double *a, int planes, int n) {
#pragma omp parallel
    for (int k = 0; k < planes; k++)
#pragma omp for ordered(1) schedule(static) nowait
        for (int i = 1; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
            line(a + ((long) k * n + i) * n, a + ((long) k * n + i - 1) * n, n);
#pragma omp ordered depend(source)
        }
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 60, times = argc > 2 ? atoi(argv[2]) : 4, planes = 16;
    double *a = malloc(sizeof(double) * planes * n * n), s = 0;
    for (long i = 0; i < (long) planes * n * n; i++) a[i] = i % 17;
    for (int t = 0; t < times; t++) flags(a, planes, n), turns(a, planes, n), inner(a, planes, n);
    for (long i = 0; i < (long) planes * n * n; i += 7) s += a[i] * (i % 11);
    printf("%.12e\n", s);
}
