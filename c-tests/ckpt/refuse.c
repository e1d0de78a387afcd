/* Programs whose state cannot be saved: argv[1] says what they have. They go on, and print "done". */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static void *idle(void *p) {
    for (;;) pause();
    return p;
}
/* Made without libc: nothing but system calls. */
static int asleep(void *p) {
    (void)p;
    for (;;) syscall(SYS_pause);
    return 0;
}
int main(int argc, char **argv) {
    const char *what = argv[1];
    int fds[2];
    if (!strcmp(what, "thread")) {
        pthread_t t;
        pthread_create(&t, NULL, idle, NULL);
    } else if (!strcmp(what, "blocks")) {
        pthread_t t;
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        pthread_create(&t, NULL, idle, NULL);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    } else if (!strcmp(what, "clone")) {
        static char stack[65536] __attribute__((aligned(64)));
        clone(asleep, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
    } else if (!strcmp(what, "socket")) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) return 1;
    } else if (!strcmp(what, "pipe")) {
        if (pipe(fds) || write(fds[1], "unread", 6) != 6) return 1;
    } else if (!strcmp(what, "shared")) {
        *(int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) = 1;
    } else if (!strcmp(what, "child")) {
        if (fork() == 0) {
            sleep(60);
            _exit(0);
        }
    } else if (!strcmp(what, "alarm")) {
        struct itimerval t = {{100, 0}, {100, 0}};
        setitimer(ITIMER_REAL, &t, NULL);
    } else if (!strcmp(what, "timer")) {
        timer_t t;
        struct sigevent e = {.sigev_notify = SIGEV_NONE};
        timer_create(CLOCK_MONOTONIC, &e, &t);
    } else if (!strcmp(what, "memfd")) {
        if (memfd_create("x", 0) < 0) return 1;
    } else if (!strcmp(what, "closes")) {
        int n = 0;
#pragma omp parallel reduction(+ : n)
        n++;
        if (n > 0) closefrom(3);
    }
    double end = omp_get_wtime() + (argc > 2 ? atof(argv[2]) : 0.25);
    long sum = 0;
    while (omp_get_wtime() < end) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += i % 3 == 5;
    }
    printf("done %ld\n", sum);
    fflush(stdout);
    if (!strcmp(what, "child")) kill(0, 0);
    return 0;
}
