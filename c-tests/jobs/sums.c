/* A step of a script. argv: a name, rounds, a file to begin with (`-`: none), a file for the result. A name
   that begins with "fails" ends by a signal; one that begins with "asks" reads a number from its input; with
   "lasts" takes longer. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
/* Work by the processor's clock, which begins anew with a new kernel thread. */
static void work(double seconds) {
    double last = used(), done = 0;
    while (done < seconds) {
        double now = used();
        done += now > last ? now - last : 0;
        last = now;
    }
}
static int is(const char *name, const char *kind) { return !strncmp(name, kind, strlen(kind)); }

int main(int argc, char **argv) {
    unsigned long x = 0;
    FILE *f;
    if (argc > 3 && (f = fopen(argv[3], "r"))) {
        if (fscanf(f, "%lu", &x) != 1)
            return 3;
        fclose(f);
    }
    if (is(argv[1], "asks") && scanf("%lu", &x) != 1)
        return 4;
    for (int r = 0; r < atoi(argv[2]); r++) {
        work(is(argv[1], "lasts") ? 0.05 : 0.01);
#pragma omp parallel for reduction(+ : x)
        for (int i = 0; i < 1000; i++)
            x += i * (r + 1);
        printf("%s %d %lu\n", argv[1], r, x);
        fflush(stdout);
    }
    if (is(argv[1], "fails"))
        raise(SIGABRT);
    if (argc > 4 && (f = fopen(argv[4], "w"))) {
        fprintf(f, "%lu\n", x);
        fclose(f);
    }
    return 0;
}
