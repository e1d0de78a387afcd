/* launch N PROGRAM [ARGS]: starts the program N times, prints the median time of a run in microseconds. */
#define _GNU_SOURCE
#include "../median.h"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[1]) : 0;
    if (n < 1) return 2;
    double *times = malloc((size_t)n * sizeof *times);
    /* The runtime is preloaded into the program, not into this one. */
    char *preload = getenv("LAUNCH_PRELOAD");
    if (preload && *preload) setenv("LD_PRELOAD", preload, 1);
    for (int i = 0; i < n; i++) {
        struct timespec a, b;
        pid_t p;
        int status;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (posix_spawn(&p, argv[2], 0, 0, argv + 2, environ) || waitpid(p, &status, 0) < 0 || status) return 1;
        clock_gettime(CLOCK_MONOTONIC, &b);
        times[i] = 1e6 * (double)(b.tv_sec - a.tv_sec) + 1e-3 * (double)(b.tv_nsec - a.tv_nsec);
    }
    printf("start\t%.3f\n", sorted(times, n)[n / 2]);
    return 0;
}
