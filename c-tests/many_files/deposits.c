/* Updates in front of, in and behind calls of another file's functions with lock sections in them. */
#include <stdio.h>

enum { N = 400, M = 60 };
extern double total;
double deposit(double *row, int n, double x);
double twice(double *row, int n, double x, int *counts);
static double a[N][M], out[N];
static int counts[N][2];

int main(void)
{
    for (int r = 0; r < 4; r++) {
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 0; i < N; i++) {
            double s = deposit(a[i], M, i);
            for (int k = 0; k < 2000; k++)
                out[i] = out[i] * 0.75 + s;
            out[i] += twice(a[i], M, -i, counts[i]);
        }
    }
    double s = 0;
    int all = 0;
    for (int i = 0; i < N; i++) {
        s = s * 0.999 + out[i];
        all += counts[i][0] + 3 * counts[i][1];
    }
    printf("%.17g %.17g %d\n", total, s, all);
    return 0;
}
