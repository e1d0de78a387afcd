/* Dirties a fraction of its memory again and again: argv = MiB, per cent, seconds between two passes, seconds in all. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    size_t bytes = (size_t)atol(argv[1]) << 20, pages = bytes / 4096;
    double percent = atof(argv[2]), pass = atof(argv[3]), total = atof(argv[4]);
    char *m = aligned_alloc(4096, bytes);
#pragma omp parallel for
    for (size_t p = 0; p < pages; p++) m[p * 4096] = 1 + p % 7;
    size_t step = percent >= 100 ? 1 : (size_t)(100 / percent);
    double begin = omp_get_wtime(), end = begin + total;
    long passes = 0, work = 0;
    while (omp_get_wtime() < end) {
        double until = begin + ++passes * pass;
#pragma omp parallel for
        for (size_t p = passes % step; p < pages; p += step) m[p * 4096 + passes % 4096]++;
        while (omp_get_wtime() < until)
#pragma omp parallel for reduction(+ : work)
            for (int i = 0; i < 10000; i++) work += i % 3 == 1;
    }
    printf("passes %ld work %ld\n", passes, work);
    return 0;
}
