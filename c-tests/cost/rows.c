/* A relaxation, a decomposition and a product on matrices whose rows stand behind pointers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double **matrix(int n, int m) {
    double **a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++) a[i] = calloc(m, sizeof **a);
    return a;
}
static void relax(double **u, double **f, int n, int colour) {
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++)
        for (int j = 1 + (i + colour) % 2; j < n - 1; j += 2)
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - f[i][j]);
}
static void residual(double **r, double **u, double **f, int n) {
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            r[i][j] = f[i][j] - (4 * u[i][j] - u[i - 1][j] - u[i + 1][j] - u[i][j - 1] - u[i][j + 1]);
}
static void decompose(double **a, int n) {
    for (int k = 0; k < n - 1; k++)
#pragma omp parallel for
        for (int i = k + 1; i < n; i++) {
            double l = a[i][k] /= a[k][k];
            for (int j = k + 1; j < n; j++) a[i][j] -= l * a[k][j];
        }
}
static void multiply(double **c, double **a, double **b, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i][j] += a[i][k] * b[k][j];
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 160, times = argc > 2 ? atoi(argv[2]) : 1;
    double **u = matrix(n, n), **f = matrix(n, n), **r = matrix(n, n), **a = matrix(n, n), **c = matrix(n, n);
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                f[i][j] = (i * 7 + j * 3) % 11, a[i][j] = i == j ? n : 1.0 / (1 + i + j);
        for (int s = 0; s < 20; s++) relax(u, f, n, 0), relax(u, f, n, 1), residual(r, u, f, n);
        multiply(c, a, u, n);
        decompose(a, n);
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += r[i][j] + a[i][j] * 1e-3 + c[i][j] * 1e-6;
    printf("%.9e\n", sum);
}
