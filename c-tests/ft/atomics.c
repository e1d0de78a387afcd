/* Tiny work with atomic updates, so that a failure often strikes between it and the runtime: argv[1]: chunks (an update in each), merges (of
 * reductions, at the end of each region), waits (before a barrier), tasks. Work with an update in it must not be executed twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "chunks";
    int n = argc > 2 ? atoi(argv[2]) : 20000;
    long sum = 0, other = 0;
    if (!strcmp(what, "chunks"))
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = 0; i < n; i++) {
#pragma omp atomic
            sum += i;
        }
    if (!strcmp(what, "merges"))
        for (int r = 0; r < n / 8; r++) {
#pragma omp parallel for schedule(static) reduction(+ : sum)
            for (int i = 0; i < 8; i++) sum += i + r;
        }
    if (!strcmp(what, "waits"))
#pragma omp parallel
        for (int r = 0; r < n / 8; r++) {
#pragma omp for reduction(+ : sum) nowait
            for (int i = 0; i < 8; i++) sum += i ^ r;
#pragma omp barrier
        }
    if (!strcmp(what, "tasks"))
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(i)
            {
#pragma omp atomic
                other += i;
            }
        }
    printf("%ld %ld\n", sum, other);
    return 0;
}
