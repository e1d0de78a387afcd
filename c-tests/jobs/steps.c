/* Serial steps, then regions, with lines of output: what a long job does. argv: serial steps (a million: for
   ever); "handles": SIGTERM is noted and nothing else; "late": the first step takes longer; regions. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t terminated;
static void note(int signal) { terminated = signal; }

static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
/* Work by the processor's clock: steps take as long on any machine. The clock begins anew with a new kernel
   thread, after a restart above all: what has been used is added up. */
static void work(double seconds) {
    double last = used(), done = 0;
    while (done < seconds) {
        double now = used();
        done += now > last ? now - last : 0;
        last = now;
    }
}

int main(int argc, char **argv) {
    int steps = atoi(argv[1]), regions = argc > 3 ? atoi(argv[3]) : 10;
    if (argc > 2 && !strcmp(argv[2], "handles"))
        signal(SIGTERM, note);
    if (argc > 2 && !strcmp(argv[2], "late"))
        work(0.3);
    unsigned x = 1;
    for (int i = 0; i < steps; i++) {
        work(0.004);
        x = x * 1103515245u + 12345u;
        printf("step %d %u\n", i, x);
        if (i % 7 == 0)
            fflush(stdout);
    }
    unsigned long s = 0;
    for (int r = 0; r < regions; r++) {
#pragma omp parallel for schedule(dynamic, 10) reduction(+ : s)
        for (int i = 0; i < 1000; i++)
            s += (unsigned)i ^ x ^ r;
        if (r % 1000 == 0)
            printf("region %d %lu\n", r, s);
    }
    printf("sum %lu\n", s);
    return 0;
}
