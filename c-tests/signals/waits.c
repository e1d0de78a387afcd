/* Waits that only what is waited for may end, through freezes and stops that have to wait. In each round of a
   region thread 1 waits, and thread 0 ends the wait after 60 ms. Arguments: the wait (suspend: sigsuspend;
   pause; semaphore: sem_timedwait, in a program without handlers), the number of rounds. A wait that ends
   otherwise ends the program with status 3. */
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_t waiter;
static atomic_int waits, over;
static volatile sig_atomic_t handled;
static sem_t semaphore;

static void handler(int s) { handled++; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Computes, so that thread 0 is not in a library. */
static double compute(double seconds) {
    volatile double x = 1;
    for (double end = now() + seconds; now() < end;)
        for (int k = 0; k < 1000; k++) x = x * 0.5 + k;
    return x;
}

static void ended_otherwise(const char *how, int error) {
    fprintf(stderr, "%s has ended by itself: %s\n", how, strerror(error));
    _exit(3);
}

static void wait_for_signal(const char *how) {
    sigset_t other;
    int before = handled;
    sigfillset(&other);
    sigdelset(&other, SIGUSR1);
    waits = 1;
    if (!strcmp(how, "suspend")) {
        sigsuspend(&other);
    } else {
        /* The signal may come before the wait: it is sent until it has ended one. */
        pause();
    }
    if (handled == before) ended_otherwise(how, errno);
}

static void wait_for_post(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 300;
    waits = 1;
    if (sem_timedwait(&semaphore, &until)) ended_otherwise("sem_timedwait", errno);
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    int rounds = atoi(argv[2]), by_signal = strcmp(how, "semaphore");
    sem_init(&semaphore, 0, 0);
    if (by_signal) signal(SIGUSR1, handler);
    for (int r = 0; r < rounds; r++) {
        waits = over = 0;
        #pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1) {
            sigset_t usr1, before;
            sigemptyset(&usr1);
            sigaddset(&usr1, SIGUSR1);
            waiter = pthread_self();
            if (!strcmp(how, "suspend")) pthread_sigmask(SIG_BLOCK, &usr1, &before);
            if (by_signal) wait_for_signal(how);
            else wait_for_post();
            over = 1;
            if (!strcmp(how, "suspend")) pthread_sigmask(SIG_SETMASK, &before, NULL);
        } else {
            while (!waits) compute(1e-3);
            compute(0.06);
            if (!by_signal) sem_post(&semaphore);
            else do {
                pthread_kill(waiter, SIGUSR1);
                compute(5e-3);
            } while (!over);
        }
    }
    printf("%d rounds\n", rounds);
    return 0;
}
