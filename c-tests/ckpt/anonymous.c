/* A helper thread as libraries have it: it blocks all signals, and waits with epoll for counters, a timer, signals and another set. Between regions the
 * program gives it work through each of these and waits for its answer. anonymous [rounds]: prints sums that do not depend on timing. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { N = 20000, WAKE = 1, TIMER, INNER, SIGNALS, TWICE };
static double a[N];
static int set, inner, wake, again, counted, timer, signals, answers;
static uint64_t total[6];

static void need(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(3);
    }
}
static void work(int x) {
#pragma omp parallel for schedule(dynamic, 500)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 40; k++) a[i] = a[i] * 0.5 + i % 7 + x;
}
static void put(int fd, uint64_t n) { need(write(fd, &n, 8) == 8, "write"); }
static uint64_t take(int fd) {
    uint64_t n;
    need(read(fd, &n, 8) == 8, "read");
    return n;
}
static void add(int to, int fd, uint32_t events, uint64_t data) {
    struct epoll_event e = {.events = events, .data.u64 = data};
    need(!epoll_ctl(to, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
}

static void *helper(void *p) {
    for (;;) {
        struct epoll_event e;
        if (epoll_wait(set, &e, 1, -1) != 1) {
            need(errno == EINTR, "epoll_wait");
            continue;
        }
        uint64_t n = 0;
        struct signalfd_siginfo s;
        switch (e.data.u64 >> 8) {
        case WAKE: n = take(wake); break;
        case TIMER: n = take(timer); break;
        case INNER:
            need(epoll_wait(inner, &e, 1, 0) == 1 && e.data.u64 == (77ull << 32 | 5), "inner");
            n = take(counted);
            break;
        case SIGNALS:
            need(read(signals, &s, sizeof s) == sizeof s, "signal");
            n = s.ssi_signo;
            break;
        case TWICE: { /* edge-triggered: told of more than once, it may be empty */
            uint64_t m;
            if (read(again, &m, 8) != 8) continue;
            n = m;
        }
        }
        if (n == 1000000) return p;
        total[e.data.u64 >> 8 & 7] += n;
        put(answers, 1);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    sigset_t all, usual, one;
    sigemptyset(&one), sigaddset(&one, SIGUSR2), sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    set = epoll_create1(EPOLL_CLOEXEC), inner = epoll_create1(0);
    wake = eventfd(0, EFD_CLOEXEC), again = eventfd(0, EFD_NONBLOCK), answers = eventfd(0, 0);
    counted = eventfd(0, EFD_SEMAPHORE), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    signals = signalfd(-1, &one, 0);
    add(inner, counted, EPOLLIN, 77ull << 32 | 5);
    add(set, inner, EPOLLIN, INNER << 8), add(set, wake, EPOLLIN, WAKE << 8), add(set, timer, EPOLLIN, TIMER << 8);
    add(set, signals, EPOLLIN, SIGNALS << 8), add(set, again, EPOLLIN | EPOLLET, TWICE << 8);
    int copy = dup(answers);
    pthread_t t;
    pthread_sigmask(SIG_SETMASK, &all, &usual);
    need(!pthread_create(&t, NULL, helper, NULL), "thread");
    pthread_sigmask(SIG_SETMASK, &usual, NULL);
    for (int i = 0; i < rounds; i++) {
        uint64_t got = 0, want = 6;
        struct itimerspec soon = {{0, 0}, {0, 1000000}};
        put(wake, i + 1);
        work(i);
        need(!timerfd_settime(timer, 0, &soon, NULL), "timer");
        put(counted, 2);
        work(i + 1);
        kill(getpid(), SIGUSR2);
        put(again, i);
        want -= i == 0; /* nothing was put there */
        while (got < want) got += take(i % 2 ? copy : answers);
        need(got == want, "answers");
        work(i + 2);
    }
    put(wake, 1000000);
    pthread_join(t, NULL);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i];
    printf("%.3f wake %lu timer %lu counted %lu signals %lu again %lu\n", sum, total[WAKE], total[TIMER], total[INNER] + total[0], total[SIGNALS],
           total[TWICE]);
    return 0;
}
