/* Dirties a fraction of its memory again and again: argv = MiB, per cent, seconds between two passes, seconds in all[, passes at the beginning that
   change everything[, bytes that are changed in a row]]. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    size_t bytes = (size_t)atol(argv[1]) << 20, pages = bytes / 4096;
    double percent = atof(argv[2]), pass = atof(argv[3]), total = atof(argv[4]);
    long everything = argc > 5 ? atol(argv[5]) : 0;
    size_t row = argc > 6 ? (size_t)atol(argv[6]) / 4096 : 1;
    char *m = aligned_alloc(4096, bytes);
#pragma omp parallel for
    for (size_t p = 0; p < pages; p++) m[p * 4096] = 1 + p % 7;
    size_t part = percent >= 100 ? 1 : (size_t)(100 / percent);
    double begin = omp_get_wtime(), end = begin + total;
    long passes = 0, work = 0;
    while (omp_get_wtime() < end) {
        double until = begin + ++passes * pass;
        size_t step = passes <= everything ? 1 : part;
#pragma omp parallel for
        for (size_t r = passes % step; r < pages / row; r += step)
            for (size_t p = r * row; p < (r + 1) * row; p++) m[p * 4096 + passes % 4096]++;
        while (omp_get_wtime() < until)
#pragma omp parallel for reduction(+ : work)
            for (int i = 0; i < 10000; i++) work += i % 3 == 1;
    }
    printf("passes %ld work %ld\n", passes, work);
    return 0;
}
