// Functions of which nothing is known, called inside of loops: work is split there, and what is updated
// behind them must have been saved behind them, too.
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 160, M = 24 };
double unknown(int i, double *x, double s); // station.c, built by gcc

static double a[N][M], b[N][M], c[N][M];

// The loops around the call save in front of themselves: each of them behind it.
static void between(int r) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < N; i++)
        for (int part = 0; part < 3; part++) {
            double *x = part == 1 ? b[i] : c[i];
            for (int k = 0; k < M; k++) x[k] = x[k] * 0.5 + a[i][k];
            double s = unknown(i, x, r);
            for (int q = 0; q < 6; q++)
                for (int k = 0; k < M; k++) a[i][k] = sqrt(a[i][k] * a[i][k] + s) * 0.75;
        }
}

// One loop with the call in it, now and then: saved in front of it, but not behind the call.
static void within(int r) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) {
            a[i][k] = sqrt(a[i][k] * a[i][k] + 1) * 0.75;
            if (k == r % M) b[i][k] += unknown(i, c[i], 1);
        }
}

int main(void) {
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) a[i][k] = i % 17 + k * 0.5, b[i][k] = i % 5, c[i][k] = k % 7;
    for (int r = 0; r < 60; r++) {
        between(r);
        within(r);
    }
    double s = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) s = s * 0.999 + a[i][k] + b[i][k] * 0.5 + c[i][k] * 0.25;
    printf("%.17g %g\n", s, unknown(0, a[0], 0));
    return 0;
}
