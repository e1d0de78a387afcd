/* FDR wavefront: a doacross loop nest, each cell from its upper and left neighbours. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 96;
    double *a = malloc(sizeof(double) * n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 13;
    for (int r = 0; r < 5; r++) {
        double *b = malloc(sizeof(double) * n * n);
        for (int i = 0; i < n; i++) b[i] = a[i], b[i * n] = a[i * n];
#pragma omp parallel for ordered(2) schedule(dynamic)
        for (int i = 1; i < n; i++)
            for (int j = 1; j < n; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                b[i * n + j] = 0.3 * a[i * n + j] + 0.4 * b[(i - 1) * n + j] + 0.29 * b[i * n + j - 1];
#pragma omp ordered depend(source)
            }
        free(a);
        a = b;
    }
    double s = 0;
    for (int i = 0; i < n * n; i++) s += a[i] * (i % 7);
    printf("wavefront %.12e\n", s);
    return 0;
}
