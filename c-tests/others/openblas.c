/* Solves a linear system and multiplies matrices with OpenBLAS's OpenMP build. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
void dgesv_(int *, int *, double *, int *, int *, double *, int *, int *);
void dgemm_(char *, char *, int *, int *, int *, double *, double *, int *, double *, int *, double *, double *, int *);
int main(void) {
    int n = 500, one = 1, info, *piv = malloc(sizeof(int) * n);
    double *a = malloc(sizeof(double) * n * n), *b = malloc(sizeof(double) * n), *c = malloc(sizeof(double) * n * n);
    double *a0 = malloc(sizeof(double) * n * n);
    for (int i = 0; i < n * n; i++) a[i] = a0[i] = sin(i * 0.37) + (i % (n + 1) == 0 ? n : 0);
    for (int i = 0; i < n; i++) b[i] = i % 11;
    dgesv_(&n, &one, a, &n, piv, b, &n, &info);
    double r = 0, s = 0;
    for (int i = 0; i < n; i++) {
        double x = 0;
        for (int j = 0; j < n; j++) x += a0[i + (size_t)j * n] * b[j];
        r = fmax(r, fabs(x - i % 11));
        s += b[i];
    }
    double alpha = 1, beta = 0;
    for (int k = 0; k < 5; k++) dgemm_("N", "T", &n, &n, &n, &alpha, a0, &n, a0, &n, &beta, c, &n);
    double t = 0;
    for (int i = 0; i < n * n; i += 97) t += c[i];
    printf("info %d residual %s sum %.9e trace %.9e\n", info, r < 1e-9 ? "small" : "LARGE", s, t);
    return 0;
}
