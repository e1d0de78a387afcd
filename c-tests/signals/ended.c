/* A sigsuspend that a handler has ended: each signal is sent once, so one that waits again waits for ever.
   The handler blocks all signals for a while, so that what comes meanwhile is taken when it returns.
   Argument: rounds. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_t waiter;
static atomic_int waits, over;
static volatile sig_atomic_t handled;

static double compute(double seconds) {
    volatile double x = 1;
    struct timespec t;
    double end = 0, now;
    do {
        clock_gettime(CLOCK_MONOTONIC, &t);
        now = t.tv_sec + 1e-9 * t.tv_nsec;
        if (end == 0) end = now + seconds;
        for (int k = 0; k < 1000; k++) x = x * 0.5 + k;
    } while (now < end);
    return x;
}

static void handler(int s) {
    compute(5e-3);
    handled++;
}

int main(int argc, char **argv) {
    int rounds = atoi(argv[1]), wrong = 0;
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = handler;
    sigfillset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
    #pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        sigset_t usr1, others;
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &usr1, NULL);
        sigfillset(&others);
        sigdelset(&others, SIGUSR1);
        waiter = pthread_self();
        for (int r = 1; r <= rounds; r++) {
            waits = r;
            sigsuspend(&others);
            wrong += handled != r;
            over = r;
        }
    } else {
        for (int r = 1; r <= rounds; r++) {
            while (waits < r) compute(1e-4);
            compute(1e-3);
            pthread_kill(waiter, SIGUSR1);
            while (over < r) compute(1e-4);
        }
    }
    printf("%d rounds, %d wrong\n", rounds, wrong);
    return 0;
}
