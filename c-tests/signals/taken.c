/* A member of a team takes the first freeze signal itself, by system calls that nobody sees, and works on: it
   has to be sent another. */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static long call(long n, long a, long b, long c, long d) {
    long r;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return r;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(void) {
    unsigned long set = 1ul << (SIGRTMAX - 4 - 1);
    long taken = 0;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        call(14, SIG_BLOCK, (long)&set, 0, 8);          /* rt_sigprocmask */
        taken = call(128, (long)&set, 0, 0, 8);         /* rt_sigtimedwait */
        call(14, SIG_UNBLOCK, (long)&set, 0, 8);
    }
    double x = 0, until = now() + 4;
    while (now() < until) {
#pragma omp parallel for reduction(+ : x) num_threads(2)
        for (int i = 0; i < 100000; i++) x += i * 1e-9;
    }
    printf("taken %d\n", taken == SIGRTMAX - 4);
    return x < 0;
}
