/* Steps with regions, and between them the calls that libc makes by way of the kernel's object (vDSO):
   clocks go on, and agree with the system call's. Prints a sum (argument: steps). */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
enum { N = 40000 };
static uint64_t a[N];

static double seconds(struct timespec t) { return t.tv_sec + t.tv_nsec * 1e-9; }

static void check(int ok, const char *what) {
    if (!ok) {
        printf("%s is wrong\n", what);
        exit(1);
    }
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 300;
    double before = 0;
    for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 12; k++) a[i] = (a[i] ^ a[i] >> 31) * 0x9e3779b97f4a7c15u + i + s;
        struct timespec t, system, real, fine;
        struct timeval day;
        clock_gettime(CLOCK_MONOTONIC, &t);
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &system);
        check(seconds(t) >= before && seconds(system) >= seconds(t), "CLOCK_MONOTONIC");
        before = seconds(t);
        clock_gettime(CLOCK_REALTIME, &real);
        gettimeofday(&day, NULL);
        check(day.tv_sec >= real.tv_sec && day.tv_sec - real.tv_sec < 60, "gettimeofday");
        check(time(NULL) - real.tv_sec + 1 < 60, "time");
        check(clock_getres(CLOCK_MONOTONIC, &fine) == 0 && fine.tv_sec == 0, "clock_getres");
        check(sched_getcpu() >= 0, "sched_getcpu");
    }
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) sum = sum * 31 + a[i];
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
