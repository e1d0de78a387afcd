/* no_room.c much|memory: old values of more bytes than a log may have, or for whose log there is no
   memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 9 << 20, BLOCKS = 2 };

/* No more memory than there is, and some. */
static void bound(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu", &pages) != 1) exit(3);
    fclose(f);
    struct rlimit most = {pages * 4096 + (16 << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &most)) exit(3);
}
static void count(unsigned char *counts, const int *where, double *after, int add) {
#pragma omp parallel for schedule(static, 1)
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = b * (N / BLOCKS); i < (b + 1) * (N / BLOCKS); i++) counts[where[i]] += add;
        double x = b;
        for (int k = 1; k < 60000000; k++) x = 0.5 * x + 1 / (x + k);
        after[b] = x;
    }
}
int main(int argc, char **argv) {
    unsigned char *counts = calloc(N, 1);
    int *where = malloc(N * sizeof *where);
    double after[BLOCKS], sum = 0;
    for (int i = 0; i < N; i++) where[i] = i ^ 37;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    if (argc > 1 && !strcmp(argv[1], "memory")) bound();
    count(counts, where, after, threads);
    for (int i = 0; i < N; i++) sum += counts[i] * (double) (i % 7);
    printf("%.17g %.17g\n", sum, after[0] + after[1]);
}
