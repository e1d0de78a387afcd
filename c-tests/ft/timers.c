/* Timers that send to threads: each member of a team has one that sends to it (SIGEV_THREAD_ID), with its
   number as a value; one for an hour says how much time has passed for timers; with "function" one starts
   threads (SIGEV_THREAD). argv[1]: how many regions. Says what is not as it should be, or "kept". */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { THREADS = 3, EVERY = 4000000 };
static const long HOUR = 3600;
static timer_t own[THREADS], hour, starts;
static _Atomic long expired[THREADS], wrong;
static _Atomic int calls, functions;
static __thread int me;
static volatile double sink;

static void handler(int s, siginfo_t *i, void *unused) {
    int its = i->si_value.sival_int == 100 + me && i->si_timerid == (int)(long)own[me];
    if (i->si_code != SI_TIMER || !its) wrong++;
    expired[me] += 1 + i->si_overrun;
    calls++;
}
static void function(union sigval v) {
    if (v.sival_int != 77) wrong++;
    functions++;
}
static void set(timer_t t, long ns, long every) {
    const long s1 = 1000000000;
    struct itimerspec s = { { every / s1, every % s1 }, { ns / s1, ns % s1 } };
    if (timer_settime(t, 0, &s, NULL)) wrong += 100;
}
static long left(timer_t t) {
    struct itimerspec s;
    if (timer_gettime(t, &s)) wrong += 1000;
    return s.it_value.tv_sec * 1000000000 + s.it_value.tv_nsec;
}
static void make(void) {
    struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3 };
    e.sigev_value.sival_int = 100 + me;
    e.sigev_notify_thread_id = syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &e, &own[me])) wrong += 10000;
}
static void region(int make_them) {
#pragma omp parallel num_threads(THREADS)
    {
        if (make_them) {
            me = omp_get_thread_num();
            make();
        }
        double x = 1;
        for (int k = 0; k < 60000; k++) x = x * 0.5 + k;
        sink = x;
#pragma omp barrier
    }
}

int main(int argc, char **argv) {
    int regions = argc > 1 ? atoi(argv[1]) : 100, threads = argc > 2 && !strcmp(argv[2], "function");
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigaction(SIGRTMIN + 3, &a, NULL);
    struct sigevent e = { .sigev_notify = SIGEV_NONE };
    if (timer_create(CLOCK_MONOTONIC, &e, &hour)) wrong++;
    e.sigev_notify = SIGEV_THREAD;
    e.sigev_notify_function = function;
    e.sigev_value.sival_int = 77;
    if (threads && timer_create(CLOCK_MONOTONIC, &e, &starts)) wrong++;
    region(1);
    if (argc > 2 && !strcmp(argv[2], "cpu")) {
        struct sigevent none = { .sigev_notify = SIGEV_NONE };
        timer_t t;
        if (timer_create(CLOCK_THREAD_CPUTIME_ID, &none, &t)) wrong++;
    }
    set(hour, HOUR * 1000000000, 0);
    if (threads) set(starts, EVERY, EVERY);
    for (int t = 0; t < THREADS; t++) set(own[t], EVERY, EVERY);
    for (int i = 1; i < regions; i++) region(0);
    /* All of them still go on. */
    long first[THREADS];
    for (int t = 0; t < THREADS; t++) first[t] = expired[t];
    int before = functions;
    for (int i = 0; i < 20000; i++) {
        int on = !threads || functions > before + 2;
        for (int t = 0; t < THREADS; t++) on &= expired[t] > first[t] + 2;
        if (on) break;
        region(0);
        if (i == 19999) printf("a timer has stopped: %ld %ld %ld, %d\n", expired[0] - first[0],
                               expired[1] - first[1], expired[2] - first[2], functions - before);
    }
    /* As often as time has passed for timers; the last one may be on its way. */
    for (int t = 0; t < THREADS; t++) {
        long before = HOUR * 1000000000 - left(hour);
        struct itimerspec none = { { 0, 0 }, { 0, 0 } }, was;
        if (timer_settime(own[t], 0, &none, &was)) wrong += 100;
        /* It was stopped between these two. */
        long after = HOUR * 1000000000 - left(hour);
        long spare = was.it_value.tv_sec * 1000000000 + was.it_value.tv_nsec;
        region(0);
        long least = (before + spare) / EVERY, most = (after + spare) / EVERY, some = 2 + most / 500;
        if (expired[t] < least - some || expired[t] > most + some)
            printf("timer %d expired %ld times, not %ld to %ld\n", t, expired[t], least, most);
        if (spare <= 0 || spare > EVERY) printf("left %ld\n", spare);
        if (timer_delete(own[t])) printf("not deleted\n");
    }
    if (threads && timer_delete(starts)) printf("not deleted\n");
    if (timer_delete(hour)) printf("not deleted\n");
    if (wrong) printf("wrong: %ld\n", wrong);
    puts("kept");
    return 0;
}
