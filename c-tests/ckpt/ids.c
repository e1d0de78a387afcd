/* Threads of the program's own that use the kernel's ids all the time: locks that note their owner, raise. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { OWN = 4 };
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static long steps, shared, raised[OWN];
static _Thread_local long me;

static void on(int s) { raised[me]++; }

#define NEED(call)                       \
    do {                                 \
        int r = (call);                  \
        if (r) {                         \
            printf("%s: %d\n", #call, r); \
            exit(3);                     \
        }                                \
    } while (0)

static void *work(void *which) {
    me = (long)which;
    for (long i = 0; i < steps * 1000; i++) {
        NEED(pthread_mutex_lock(&recursive));
        NEED(pthread_mutex_lock(&recursive));
        shared++;
        NEED(pthread_mutex_unlock(&recursive));
        NEED(pthread_mutex_unlock(&recursive));
        NEED(pthread_mutex_lock(&checking));
        NEED(pthread_mutex_unlock(&checking));
        NEED(pthread_rwlock_wrlock(&table));
        NEED(pthread_rwlock_unlock(&table));
        if (i % 64 == 0) NEED(raise(SIGUSR1));
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t own[OWN];
    double sum = 0;
    steps = argc > 1 ? atoi(argv[1]) : 300;
    signal(SIGUSR1, on);
    for (long i = 0; i < OWN; i++) NEED(pthread_create(&own[i], NULL, work, (void *)i));
    for (int k = 0; k < steps; k++) {
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : sum)
        for (int i = 0; i < 4000; i++) {
            double x = i;
            for (int j = 0; j < 300; j++) x = x * 0.5 + k;
            sum += x;
        }
    }
    long all = 0;
    for (int i = 0; i < OWN; i++) {
        NEED(pthread_join(own[i], NULL));
        all += raised[i];
    }
    printf("%.6f %ld %ld\n", sum, shared, all);
    return 0;
}
