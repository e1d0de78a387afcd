/* A timer that expires at a time of the thread's own CPU time (TIMER_ABSTIME), on the host of then. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile sig_atomic_t expired;
static volatile double sink;

static void note(int signal) { expired++; }
static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void compute(void) {
    double x = 1;
    for (int k = 0; k < 10000; k++) x = x * 0.5 + k;
    sink = x;
}

int main(void) {
    signal(SIGUSR1, note);
    while (used() < 0.3) compute();
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(2)
        {
            compute();
#pragma omp barrier
        }
    }
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t t;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &t)) puts("not made");
    double due = used() + 0.1;
    struct itimerspec s = {.it_value = {(long)due, (long)((due - (long)due) * 1e9)}};
    if (timer_settime(t, TIMER_ABSTIME, &s, NULL)) puts("not set");
    while (!expired) compute();
    double late = used() - due;
    /* The kernel looks at its ticks. */
    if (late < 0 || late > 0.03) printf("late by %f s\n", late);
    puts("expired");
    return 0;
}
