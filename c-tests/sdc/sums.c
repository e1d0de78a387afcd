/* Kernels that add to what is there, so that no error is written over: N cells, STEPS steps of two. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 4096, steps = argc > 2 ? atoi(argv[2]) : 100;
    unsigned *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), bad = 0;
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 1;
#pragma omp target data map(tofrom : a[0 : n], b[0 : n])
    for (int s = 0; s < steps; s++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++) a[i] += b[i] + 1;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++) b[i] += 3;
        if (s % 50 == 49) {
#pragma omp target update from(a[0 : 16])
        }
    }
    unsigned want = 0;
    for (int s = 0; s < steps; s++) want += 1 + 3 * s + 1;
    for (int i = 0; i < n; i++) bad += a[i] != want + i || b[i] != 1u + 3 * steps;
    printf("%u wrong\n", bad);
    return bad != 0;
}
