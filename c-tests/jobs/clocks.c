/* Clocks that count from the system's start: none goes back, and waits until a time of one end at that time.
   argv[1]: rounds. Prints how often one was wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
enum { N = 5 };
static const clockid_t clocks[N] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME};
static volatile double sink;
static double now(int i) {
    if (i == N - 1) return omp_get_wtime();
    struct timespec t;
    clock_gettime(clocks[i], &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
/* Waits until `at`, in one of four ways. */
static void wait_until(int way, clockid_t clock, struct timespec at) {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    static sem_t s;
    if (way == 0) while (clock_nanosleep(clock, TIMER_ABSTIME, &at, NULL) == EINTR) ;
    if (way == 1) {
        pthread_mutex_lock(&m);
        while (pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at) != ETIMEDOUT) ;
        pthread_mutex_unlock(&m);
    }
    if (way == 2) while (sem_clockwait(&s, CLOCK_MONOTONIC, &at) && errno == EINTR) ;
    if (way == 3) {
        struct itimerspec t = {.it_value = at};
        int fd = timerfd_create(clock, 0);
        struct pollfd p = {fd, POLLIN};
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL);
        while (poll(&p, 1, -1) != 1) ;
        close(fd);
    }
}
int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 100, back = 0, late = 0, early = 0;
    double last[N];
    for (int i = 0; i < N; i++) last[i] = now(i);
    for (long r = 0; r < rounds; r++) {
        int way = r % 4;
        clockid_t clock = way == 1 || way == 2 ? CLOCK_MONOTONIC : clocks[r / 4 % 2];
        struct timespec at;
        clock_gettime(clock, &at);
        at.tv_nsec += 4000000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        double set = now(3);
#pragma omp parallel for
        for (int k = 0; k < 20000; k++) sink = k;
        wait_until(way, clock, at);
        struct timespec t;
        clock_gettime(clock, &t);
        early += t.tv_sec + t.tv_nsec * 1e-9 < at.tv_sec + at.tv_nsec * 1e-9 - 1e-4;
        late += now(3) - set > 20;
        for (int i = 0; i < N; i++) {
            double n = now(i);
            back += n < last[i];
            last[i] = n;
        }
    }
    printf("back %ld late %ld early %ld\n", back, late, early);
    return back + late + early != 0;
}
