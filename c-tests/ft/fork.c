/* fork: a child's regions work, before and after the parent's, many times, also from children of children. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long sum(void) {
    long s = 0;
#pragma omp parallel for reduction(+ : s) schedule(dynamic, 3)
    for (int i = 0; i < 1000; i++) s += i;
    return s;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 50, bad = 0;
    if (sum() != 499500) bad++;
    for (int r = 0; r < rounds; r++) {
        pid_t p = fork();
        if (p == 0) {
            int ok = sum() == 499500;
            pid_t q = fork();
            if (q == 0) _exit(sum() == 499500 ? 0 : 1);
            int st;
            waitpid(q, &st, 0);
            _exit(ok && st == 0 ? 0 : 1);
        }
        int st;
        waitpid(p, &st, 0);
        bad += st != 0;
        if (sum() != 499500) bad++;
    }
    /* fork in the serial part of a region: the child's own nested region works. */
    int inner = 0;
#pragma omp parallel num_threads(3)
#pragma omp master
    {
        pid_t p = fork();
        if (p == 0) {
            omp_set_max_active_levels(4);
            _exit(sum() == 499500 ? 0 : 1);
        }
        int st;
        waitpid(p, &st, 0);
        inner = st;
    }
    printf("forks bad %d inside %d\n", bad, inner);
    return 0;
}
