/* Work of known length: each thread computes until it has used so much CPU time, and prints how much that
   was, a line a segment: "segment busy0 busy1 …" in nanoseconds. What the monitor says is held against
   that. On the CPU's clock, so that it does not matter what else runs on the machine. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16, SEGMENTS = 4 };
static struct {
    double ns[SEGMENTS];
    char far[128];
} spent[MOST];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* What one reading of the clock takes: of two that enclose something, half of each lies outside of it. */
static double cost(void) {
    enum { TIMES = 2000 };
    double from = now(), to = from;
    for (int i = 0; i < TIMES; i++) to = now();
    return (to - from) / TIMES;
}

static double reading;

static void spin(int segment, double ns) {
    int me = omp_get_thread_num();
    double from = now(), to = from;
    while (to - from < ns) to = now();
    spent[me].ns[segment] += to - from + reading;
}

int main(int argc, char **argv) {
    int threads = atoi(argv[1]), rounds = argc > 2 ? atoi(argv[2]) : 20;
    double unit = 2e6;
    reading = cost();
    for (int r = 0; r < rounds; r++) {
        if (r > 0) spin(3, unit); /* serial, between two regions */
#pragma omp parallel num_threads(threads)
        {
            int me = omp_get_thread_num();
            spin(0, unit * (me + 1)); /* ends with a barrier: uneven */
#pragma omp barrier
            spin(1, unit); /* ends with the loop's barrier; next chunks count as busy */
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < 2 * threads; i++) spin(1, unit / 2);
            spin(2, me == 0 ? 2 * unit : unit / 2); /* ends with the region */
        }
    }
    for (int s = 0; s < SEGMENTS; s++) {
        printf("%d", s);
        for (int t = 0; t < threads; t++) printf(" %.0f", spent[t].ns[s]);
        printf("\n");
    }
    return 0;
}
