/* dear.c dear|cheap REGIONS: updates of elements whose old values are dear to save against the work that is
   done on them, or cheap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void dear(long *count, const int *where, int n, int add) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) count[where[i]] += add;
}
static void cheap(double *value, const int *where, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double x = value[where[i]];
        for (int k = 1; k < 500; k++) x = 0.5 * x + 1 / (x + k);
        value[where[i]] = x;
    }
}
int main(int argc, char **argv) {
    int is_dear = argc > 1 && !strcmp(argv[1], "dear"), regions = argc > 2 ? atoi(argv[2]) : 8;
    int n = is_dear ? 1 << 22 : 1 << 13;
    int *where = malloc(n * sizeof *where);
    long *count = calloc(n, sizeof *count);
    double *value = calloc(n, sizeof *value);
    for (int i = 0; i < n; i++) where[i] = i ^ 37;
    for (int r = 1; r <= regions; r++)
        if (is_dear) dear(count, where, n, r);
        else cheap(value, where, n);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += count[i] * (double) (i % 7) + value[i];
    printf("%.17g\n", sum);
}
