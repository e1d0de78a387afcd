/* Parallel regions inside of target regions, and target regions between parallel ones. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 2000 };
static double a[N], b[N];
int main(int argc, char **argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target data map(tofrom : a) map(alloc : b)
    for (int step = 0; step < steps; step++) {
#pragma omp target map(alloc : a, b)
        {
#pragma omp parallel for schedule(dynamic, 100)
            for (int i = 0; i < N; i++) b[i] = 2 * a[i] + 1;
#pragma omp parallel for schedule(static)
            for (int i = 0; i < N; i++) a[i] = b[i] / 2;
        }
    }
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += a[i];
    printf("%.17g\n", sum);
    return 0;
}
