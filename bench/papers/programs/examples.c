/* The compile tool's own example: c(j,i) = a(j,k) * b(k,i) + c(j,i). A partly executed iteration has already
   changed c, so that c is live at the segment's entry. Then a region with two loops ("long region") whose
   private variables go from the first to the second, threadprivate data across regions, sections and single.
   Usage: examples SIZE */
#include <stdio.h>
#include <stdlib.h>

static double kept;
#pragma omp threadprivate(kept)

static void multiply(int n, const double *a, const double *b, double *c) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] = a[k * n + j] * b[i * n + k] + c[i * n + j];
}

/* Two loops in a region; `mine` lives from one to the other. */
static double two_loops(int n, double *c) {
    double total = 0;
#pragma omp parallel reduction(+ : total)
    {
        double mine = 0;
#pragma omp for
        for (int i = 0; i < n * n; i++) c[i] *= 0.5, mine += c[i];
#pragma omp for
        for (int i = 0; i < n; i++) c[i] += 1;
        total += mine;
        kept += mine;
    }
    return total;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 96;
    double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n * n), *c = calloc(n * n, sizeof *c);
    double sums[3] = {0}, across = 0, total = 0;
    if (!a || !b || !c) return 1;
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5;
    for (int step = 0; step < 4; step++) {
        multiply(n, a, b, c);
        total += two_loops(n, c);
#pragma omp parallel
        {
#pragma omp sections
            {
#pragma omp section
                for (int i = 0; i < n * n; i++) sums[0] += c[i];
#pragma omp section
                for (int i = 0; i < n * n; i += 2) sums[1] += c[i];
#pragma omp section
                for (int i = 0; i < n * n; i += 3) sums[2] += c[i];
            }
#pragma omp single
            for (int i = 0; i < n * n; i++) c[i] += sums[i % 3] > 0;
        }
    }
#pragma omp parallel reduction(+ : across)
    across += kept;
    printf("%.1f %.1f %.1f %.1f %d\n", total, sums[0], sums[1], sums[2], across == total);
    free(a), free(b), free(c);
    return 0;
}
