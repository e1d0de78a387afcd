/* ticks.c: a handler of a timer's signals that come all the time while old values are saved, and a child in
   which regions go on. Every element is read and written. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3 << 20 };
static double *values;
static volatile long ticks;

static void tick(int signal) {
    (void) signal;
    ticks++;
}
static void step(double by, double add) {
#pragma omp parallel for
    for (long i = 0; i < N; i++) values[i] = values[i] * by + add;
}
static double sum(void) {
    double sum = 0;
    for (long i = 0; i < N; i++) sum = sum * 0.999 + values[i];
    return sum;
}
int main(void) {
    values = malloc(N * sizeof *values);
    for (long i = 0; i < N; i++) values[i] = i % 1000;
    struct sigaction how = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    sigaction(SIGPROF, &how, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    for (int r = 0; r < 20; r++) {
        step(0.5, r);
        if (r == 9) {
            pid_t child = fork();
            if (!child) {
                step(0.25, 1);
                printf("child %.17g\n", sum());
                fflush(stdout);
                _exit(0);
            }
            int status = -1;
            if (waitpid(child, &status, 0) != child || status) return 3;
        }
    }
    printf("%.17g\n", sum());
    return ticks == 0;
}
