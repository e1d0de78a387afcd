/* Helper threads that wait in each way whose end comes from this process, the clock or a signal: sigwait,
 * read, poll, select, a sleep, and pause. Between regions each gets a number and answers.
 * waits [rounds]: prints sums that do not depend on timing. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { N = 20000, SIGNAL, READ, POLL, SELECT, SLEEP, WAYS };
static double a[N];
static int pipes[2][2], counter;
static atomic_ulong asked[WAYS], answered[WAYS];
static uint64_t total[WAYS];

static void need(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(3);
    }
}
/* What was asked comes with the bytes, or lies in memory. */
static uint64_t next(int way) {
    uint64_t n = 0;
    struct timespec brief = {0, 300000};
    switch (way) {
    case SIGNAL: {
        sigset_t set;
        int s;
        sigemptyset(&set), sigaddset(&set, SIGUSR1);
        need(!sigwait(&set, &s) && s == SIGUSR1, "sigwait");
        return asked[way];
    }
    case POLL: {
        struct pollfd p = {counter, POLLIN, 0};
        need(poll(&p, 1, -1) == 1, "poll");
        need(read(counter, &n, 8) == 8, "read");
        return n;
    }
    case SELECT: {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(pipes[1][0], &set);
        need(select(pipes[1][0] + 1, &set, NULL, NULL, NULL) == 1, "select");
    } /* fall through */
    case READ:
        need(read(pipes[way == SELECT][0], &n, 8) == 8, "read");
        return n;
    default:
        while (asked[way] == answered[way]) nanosleep(&brief, NULL);
        return asked[way];
    }
}
static void *helper(void *p) {
    int way = (int)(intptr_t)p;
    for (;;) {
        uint64_t n = next(way);
        total[way] = total[way] * 31 + n;
        answered[way] = n;
    }
    return p;
}
static void *paused(void *p) {
    for (;;) pause();
    return p;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    need(!pthread_sigmask(SIG_BLOCK, &set, NULL), "mask");
    need(!pipe(pipes[0]) && !pipe(pipes[1]), "pipe");
    need((counter = eventfd(0, 0)) >= 0, "eventfd");
    pthread_t t[WAYS];
    need(!pthread_create(&t[0], NULL, paused, NULL), "thread");
    for (intptr_t way = SIGNAL; way < WAYS; way++)
        need(!pthread_create(&t[way], NULL, helper, (void *)way), "thread");
    for (uint64_t r = 1; r <= (uint64_t)rounds; r++) {
#pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 40; k++) a[i] = a[i] * 0.5 + i % 7 + r;
        for (int way = SIGNAL; way < WAYS; way++) asked[way] = r;
        need(!kill(getpid(), SIGUSR1), "kill");
        need(write(counter, &r, 8) == 8, "write");
        for (int i = 0; i < 2; i++) need(write(pipes[i][1], &r, 8) == 8, "write");
        for (int way = SIGNAL; way < WAYS; way++)
            while (answered[way] != r) sched_yield();
    }
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i];
    printf("%.10e", s);
    for (int way = SIGNAL; way < WAYS; way++) printf(" %lx", (unsigned long)total[way]);
    puts("");
    return 0;
}
