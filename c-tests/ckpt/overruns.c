/* Timers that began hours ago, as they say: each had expired several times when its signal was taken, which
   timer_getoverrun tells until the next time, within the hour. argv[1]: how many regions. Says what is not as
   it should be, or "kept". */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMERS = 9, SIGNAL = 40, HOUR = 3600, HOURS = 7 };
static volatile double sink;

int main(int argc, char **argv) {
    int regions = argc > 1 ? atoi(argv[1]) : 100, few = 0, other = 0;
    timer_t timer[TIMERS];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int t = 0; t < TIMERS; t++) {
        struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNAL };
        struct itimerspec hourly = { { HOUR, 0 }, { time(NULL) - HOUR * (HOURS + t) - HOUR / 2, 0 } };
        e.sigev_value.sival_int = t;
        if (timer_create(CLOCK_REALTIME, &e, &timer[t]) ||
            timer_settime(timer[t], TIMER_ABSTIME, &hourly, NULL))
            few++;
    }
    for (int t = 0; t < TIMERS; t++) {
        siginfo_t info;
        if (sigwaitinfo(&set, &info) != SIGNAL || info.si_overrun != HOURS + info.si_value.sival_int) few++;
    }
    for (int i = 0; i < regions; i++) {
#pragma omp parallel num_threads(3)
        {
            double x = 1;
            for (int k = 0; k < 60000; k++) x = x * 0.5 + k;
            sink = x;
        }
    }
    for (int t = 0; t < TIMERS; t++) {
        struct itimerspec left;
        other += timer_gettime(timer[t], &left) || left.it_interval.tv_sec != HOUR;
        other += timer_getoverrun(timer[t]) != HOURS + t;
        other += timer_delete(timer[t]) != 0;
    }
    if (few) printf("%d timers have not expired several times\n", few);
    if (other) printf("%d times another timer\n", other);
    puts("kept");
    return 0;
}
