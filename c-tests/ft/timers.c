/* Timers that send to threads: each member of a team has one that sends to it (SIGEV_THREAD_ID), with its
   number as a value; one for an hour says how much time has passed for timers; with "function" one starts
   threads (SIGEV_THREAD). With "cpu" each counts its thread's CPU time (CLOCK_THREAD_CPUTIME_ID), with
   "named" too, by pthread_getcpuclockid; with "process" such a one of each thread sends to the process, too.
   Those expire more rarely than the kernel looks at them (a tick, up to 10 ms), which a change of host or a
   restore can cost. argv[1]: how many regions. Says what is not as it should be, or "kept". */
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

enum { THREADS = 3 };
static long every = 4000000;
static const long HOUR = 3600;
static timer_t own[THREADS], hour[THREADS], shared[THREADS], starts;
static _Atomic long expired[THREADS], sent[THREADS], wrong;
static _Atomic int calls, functions;
static const char *how = "";
static __thread int me;
static volatile double sink;

static void handler(int s, siginfo_t *i, void *unused) {
    int its = i->si_value.sival_int == 100 + me && i->si_timerid == (int)(long)own[me];
    if (i->si_code != SI_TIMER || !its) wrong++;
    expired[me] += 1 + i->si_overrun;
    calls++;
}
static void to_all(int s, siginfo_t *i, void *unused) {
    int t = i->si_value.sival_int - 200;
    if (i->si_code != SI_TIMER || t < 0 || t >= THREADS) wrong++;
    else sent[t] += 1 + i->si_overrun;
}
static void function(union sigval v) {
    if (v.sival_int != 77) wrong++;
    functions++;
}
static void region(int make_them);
static void set(timer_t t, long ns, long then) {
    const long s1 = 1000000000;
    struct itimerspec s = { { then / s1, then % s1 }, { ns / s1, ns % s1 } };
    if (timer_settime(t, 0, &s, NULL)) wrong += 100;
}
static long left(timer_t t) {
    struct itimerspec s;
    if (timer_gettime(t, &s)) wrong += 1000;
    return s.it_value.tv_sec * 1000000000 + s.it_value.tv_nsec;
}
static void make(void) {
    struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3 };
    struct sigevent none = { .sigev_notify = SIGEV_NONE }, all = { .sigev_signo = SIGRTMIN + 4 };
    clockid_t clock = CLOCK_MONOTONIC;
    if (!strcmp(how, "cpu") || !strcmp(how, "process")) clock = CLOCK_THREAD_CPUTIME_ID;
    if (!strcmp(how, "named") && pthread_getcpuclockid(pthread_self(), &clock)) wrong += 10000;
    e.sigev_value.sival_int = 100 + me;
    all.sigev_value.sival_int = 200 + me;
    e.sigev_notify_thread_id = syscall(SYS_gettid);
    if (timer_create(clock, &e, &own[me]) || timer_create(clock, &none, &hour[me])) wrong += 10000;
    if (!strcmp(how, "process") && timer_create(clock, &all, &shared[me])) wrong += 10000;
}
/* Expirations as often as time has passed for the timers of thread t. The last one may be on its way. */
static void check(timer_t timer, _Atomic long *expired, int t, const char *what) {
    long before = HOUR * 1000000000 - left(hour[t]);
    struct itimerspec none = { { 0, 0 }, { 0, 0 } }, was;
    if (timer_settime(timer, 0, &none, &was)) wrong += 100;
    /* It was stopped between these two. */
    long after = HOUR * 1000000000 - left(hour[t]);
    long spare = was.it_value.tv_sec * 1000000000 + was.it_value.tv_nsec;
    region(0);
    long least = (before + spare) / every, most = (after + spare) / every, some = 2 + most / 500;
    if (*expired < least - some || *expired > most + some)
        printf("%s %d expired %ld times, not %ld to %ld\n", what, t, *expired, least, most);
    if (spare <= 0 || spare > every) printf("left %ld\n", spare);
    if (timer_delete(timer)) printf("not deleted\n");
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
    int regions = argc > 1 ? atoi(argv[1]) : 100;
    if (argc > 2) how = argv[2];
    if (*how && strcmp(how, "function")) every = 20000000;
    int threads = !strcmp(how, "function"), process = !strcmp(how, "process");
    struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    sigaction(SIGRTMIN + 3, &a, NULL);
    a.sa_sigaction = to_all;
    sigaction(SIGRTMIN + 4, &a, NULL);
    struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = function };
    e.sigev_value.sival_int = 77;
    if (threads && timer_create(CLOCK_MONOTONIC, &e, &starts)) wrong++;
    region(1);
    for (int t = 0; t < THREADS; t++) set(hour[t], HOUR * 1000000000, 0);
    if (threads) set(starts, every, every);
    for (int t = 0; t < THREADS; t++) set(own[t], every, every);
    for (int t = 0; t < THREADS && process; t++) set(shared[t], every, every);
    for (int i = 1; i < regions; i++) region(0);
    /* All of them still go on. */
    long first[THREADS], sent_first[THREADS];
    for (int t = 0; t < THREADS; t++) first[t] = expired[t], sent_first[t] = sent[t];
    int before = functions;
    for (int i = 0; i < 20000; i++) {
        int on = !threads || functions > before + 2;
        for (int t = 0; t < THREADS; t++)
            on &= expired[t] > first[t] + 2 && (!process || sent[t] > sent_first[t] + 2);
        if (on) break;
        region(0);
        if (i == 19999) printf("a timer has stopped: %ld %ld %ld, %d\n", expired[0] - first[0],
                               expired[1] - first[1], expired[2] - first[2], functions - before);
    }
    for (int t = 0; t < THREADS; t++) {
        check(own[t], &expired[t], t, "timer");
        if (process) check(shared[t], &sent[t], t, "timer of all");
        if (timer_delete(hour[t])) printf("not deleted\n");
    }
    if (threads && timer_delete(starts)) printf("not deleted\n");
    if (wrong) printf("wrong: %ld\n", wrong);
    puts("kept");
    return 0;
}
