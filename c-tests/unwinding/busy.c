/* Work in regions, for a profiler: argv[1] seconds of it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double x[64];
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
__attribute__((noinline)) static void work(int i) {
    double y = i;
    for (int k = 0; k < 2000; k++) y = y * 0.5 + k;
    x[i] += y;
}
__attribute__((noinline)) static void solver(double until) {
    while (now() < until) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = 0; i < 64; i++) work(i);
    }
}
int main(int argc, char **argv) {
    solver(now() + (argc > 1 ? atof(argv[1]) : 0.5));
    printf("%d\n", x[3] > 0);
    return 0;
}
