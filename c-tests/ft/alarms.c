/* Interval timers (setitimer). argv: regions; 0, 1, 2: by the time of day, by its own CPU time, by all of its
   CPU time; "once": it expires once, on the way; "every": again and again, to the end; "far": not in this
   life. Says what is not as it should be, and "kept". */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static const int SIGNALS[] = {SIGALRM, SIGVTALRM, SIGPROF};
static volatile sig_atomic_t expired;
static volatile double sink;

static void note(int signal) { expired++; }
static void region(void) {
#pragma omp parallel num_threads(3)
    {
        double x = 1;
        for (int k = 0; k < 60000; k++) x = x * 0.5 + k;
        sink = x;
#pragma omp barrier
    }
}
static void set(int which, long ms, long every) {
    struct itimerval t = {{every / 1000, every % 1000 * 1000}, {ms / 1000, ms % 1000 * 1000}};
    if (setitimer(which, &t, NULL)) puts("setitimer");
}
static struct itimerval now(int which) {
    struct itimerval t;
    if (getitimer(which, &t)) puts("getitimer");
    return t;
}
/* Until it has expired so often. */
static void until(int often) {
    for (int i = 0; expired < often; i++) {
        if (i == 50000) {
            printf("it has stopped: %d of %d\n", (int)expired, often);
            return;
        }
        region();
    }
}

int main(int argc, char **argv) {
    int regions = atoi(argv[1]), which = atoi(argv[2]);
    const char *how = argv[3];
    struct sigaction a = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigaction(SIGNALS[which], &a, NULL);
    region();
    int once = !strcmp(how, "once"), every = !strcmp(how, "every");
    if (once) set(which, 120, 0);
    if (every) set(which, 4, 8);
    if (!once && !every) set(which, 3600000, 7000000);
    for (int i = 1; i < regions; i++) region();
    struct itimerval t = now(which);
    if (once) {
        until(1);
        for (int i = 0; i < 100; i++) region();
        t = now(which);
        if (expired != 1) printf("expired %d times\n", (int)expired);
        if (t.it_value.tv_sec || t.it_value.tv_usec) puts("it goes on");
    } else if (every) {
        if (t.it_interval.tv_usec != 8000) printf("every %ld\n", (long)t.it_interval.tv_usec);
        until(expired + 4);
        set(which, 0, 0);
        region();
        int then = expired;
        for (int i = 0; i < 100; i++) region();
        if (expired != then) puts("it does not stop");
    } else {
        long s = t.it_value.tv_sec;
        if (s < 3300 || s > 3600 || t.it_interval.tv_sec != 7000 || expired) printf("left: %ld\n", s);
    }
    puts("kept");
    return 0;
}
