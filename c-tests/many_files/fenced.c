/* A function that synchronises now and then, and updates what it is given whenever it is called. */
#include <stdio.h>
#include <stdlib.h>
enum { N = 400, M = 60, ROUNDS = 60 };
static double rows[N][M], sums[N];
static __attribute__((noinline)) double step(double *x, int n, int rare) {
    double s = 0;
    for (int k = 0; k < n; k++) {
        x[k] = x[k] * 0.75 + k + 1;
        s += x[k];
    }
    if (rare) {
        __sync_synchronize();
        x[0] += 1;
    }
    return s;
}
int main(void) {
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel for schedule(dynamic, 8)
        for (int i = 0; i < N; i++) {
            sums[i] = sums[i] * 0.5 + step(rows[i], M, i == 100);
            for (int k = 0; k < 200; k++) sums[i] = sums[i] * 0.999 + 1;
        }
    }
    double s = 0;
    for (int i = 0; i < N; i++) s = s * 0.999 + sums[i] + rows[i][i % M];
    printf("%.17g\n", s);
    return 0;
}
