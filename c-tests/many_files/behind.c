// What functions of another file update is saved in front of their calls, in loops with two versions: as long
// as the loop saves, and where it need not, since what it reads and writes itself does not meet.
#include <stdio.h>

enum { N = 120, M = 96 };
void bump(double *x); // behind_bump.c

static double a[N][M], b[N][M], c[N][2];
static int order[M];

// Saved one by one, which soon takes more than it may.
static void stops(int r) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) {
            a[i][order[k]] = a[i][order[k]] * 0.5 + r;
            bump(c[i]);
        }
}

// Nothing need be saved in the loop if `x` and `y` are apart, but for what the call updates.
__attribute__((noipa)) static void apart(double *x, const double *y, int r) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) {
            if ((k + r) % 3) x[i * M + k] = y[i * M + k] * 0.25 + r;
            bump(c[i]);
        }
}

int main(void) {
    for (int k = 0; k < M; k++) order[k] = k * 35 % M;
    for (int i = 0; i < N; i++) {
        c[i][0] = i, c[i][1] = i % 7 * 0.125;
        for (int k = 0; k < M; k++) a[i][k] = i % 17 + k * 0.5, b[i][k] = i % 5;
    }
    for (int r = 0; r < 120; r++) {
        stops(r);
        apart(b[0], a[0], r);
        if (r % 8 == 0) apart(a[0], a[0], r);
    }
    double s = 0;
    for (int i = 0; i < N; i++) {
        s = s * 0.999 + c[i][0];
        for (int k = 0; k < M; k++) s = s * 0.999 + a[i][k] + b[i][k] * 0.5;
    }
    printf("%.17g\n", s);
    return 0;
}
