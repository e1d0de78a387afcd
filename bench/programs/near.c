/* How near a region and a barrier of two threads come to what the machine allows: a cache line, there and back, measured in the same
 * process in turn with both. Medians and quartiles of ROUNDS; the ratio is 1 for a region that needs one way there and back, and for a
 * barrier that needs half of it.
 *     near ROUNDS [NS]
 * NS: serial work between the regions, which is not counted. */
#include "../median.h"
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 20000 };
static struct {
    _Alignas(128) _Atomic int word;
} there, back;
static _Alignas(128) int counts[2][32];

static double round_trip(void) {
    double took = 0;
    there.word = back.word = 0;
#pragma omp parallel num_threads(2)
    {
        int first = omp_get_thread_num() == 0;
#pragma omp barrier
        double began = omp_get_wtime();
        for (int i = 1; i <= TIMES; i++) {
            if (first) atomic_store_explicit(&there.word, i, memory_order_release);
            while (atomic_load_explicit(first ? &back.word : &there.word, memory_order_acquire) != i) __builtin_ia32_pause();
            if (!first) atomic_store_explicit(&back.word, i, memory_order_release);
        }
        if (first) took = omp_get_wtime() - began;
    }
    return took / TIMES * 1e9;
}

static double gap; /* seconds */

static double region(void) {
    double took = 0, began = omp_get_wtime();
    for (int i = 0; i < TIMES; i++) {
        if (gap > 0) {
            took += omp_get_wtime() - began;
            for (began = omp_get_wtime(); omp_get_wtime() < began + gap;) {}
            began = omp_get_wtime();
        }
#pragma omp parallel num_threads(2)
        counts[omp_get_thread_num()][0]++;
    }
    return (took + omp_get_wtime() - began) / TIMES * 1e9;
}

static double barrier(void) {
    double took = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        double began = omp_get_wtime();
        for (int i = 0; i < TIMES; i++) {
#pragma omp barrier
        }
        if (omp_get_thread_num() == 0) took = omp_get_wtime() - began;
    }
    return took / TIMES * 1e9;
}

static void say(const char *what, double *list, int n) {
    sorted(list, n);
    printf("%-22s %7.2f [%.2f, %.2f]\n", what, list[n / 2], list[n / 4], list[3 * n / 4]);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    gap = argc > 2 ? atof(argv[2]) * 1e-9 : 0;
    double *list[5];
    for (int i = 0; i < 5; i++) list[i] = calloc(rounds, sizeof **list);
    round_trip(), region();
    for (int k = 0; k < rounds; k++) {
        double before = round_trip();
        list[1][k] = region();
        list[2][k] = barrier();
        list[0][k] = (before + round_trip()) / 2;
        list[3][k] = list[1][k] / list[0][k];
        list[4][k] = list[2][k] / list[0][k] * 2;
    }
    say("there and back, ns", list[0], rounds);
    say("region, ns", list[1], rounds);
    say("barrier, ns", list[2], rounds);
    say("region / limit", list[3], rounds);
    say("barrier / limit", list[4], rounds);
    return 0;
}
