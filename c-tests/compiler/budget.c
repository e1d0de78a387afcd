/* budget.c REGIONS: two loops whose old values are dear to save, of files of their own: built with -DFIRST,
   with -DSECOND, and without. */
#include <stdio.h>
#include <stdlib.h>

void first(long *count, const int *where, int n, int add);
void second(long *count, const int *where, int n, int add);
#ifdef FIRST
void first(long *count, const int *where, int n, int add) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) count[where[i]] += add;
}
#elif defined SECOND
void second(long *count, const int *where, int n, int add) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) count[where[i]] ^= (long) i * add;
}
#else
int main(int argc, char **argv) {
    int n = 1 << 20, regions = argc > 1 ? atoi(argv[1]) : 8;
    int *where = malloc(n * sizeof *where);
    long *count = calloc(n, sizeof *count), sum = 0;
    for (int i = 0; i < n; i++) where[i] = i ^ 37;
    for (int r = 1; r <= regions; r++) {
        first(count, where, n / 16, r);
        for (int k = 0; k < 20; k++) second(count, where, n, k);
    }
    for (int i = 0; i < n; i++) sum += count[i] * (i % 7);
    printf("%ld\n", sum);
}
#endif
