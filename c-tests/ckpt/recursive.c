/* Mutexes that note who holds them, held while threads fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void need(int r, int want, const char *what, int step) {
    if (r != want) {
        printf("step %d: %s: %d\n", step, what, r);
        exit(3);
    }
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 150;
    double sum = 0;
    for (int step = 0; step < steps; step++) {
        need(pthread_mutex_lock(&recursive), 0, "lock", step);
        need(pthread_mutex_lock(&recursive), 0, "second lock", step);
        need(pthread_mutex_lock(&checking), 0, "checking lock", step);
        double until = omp_get_wtime() + 0.002, part = 0;
        int turn = 0, busy = 0;
#pragma omp parallel reduction(+ : part, busy)
        {
            if (omp_get_thread_num() == 1) busy = pthread_mutex_trylock(&recursive) == EBUSY;
            while (omp_get_wtime() < until) {}
            part = omp_get_thread_num() + step;
        }
        sum += part;
        need(busy, 1, "trylock of another's", step);
        need(pthread_mutex_lock(&checking), EDEADLK, "checking lock again", step);
        need(pthread_mutex_unlock(&checking), 0, "checking unlock", step);
        need(pthread_mutex_trylock(&recursive), 0, "third lock", step);
        for (int i = 0; i < 3; i++) need(pthread_mutex_unlock(&recursive), 0, "unlock", step);
        need(pthread_mutex_unlock(&recursive), EPERM, "unlock too many", step);
        /* each thread in its turn, by a condition */
#pragma omp parallel
        {
            need(pthread_mutex_lock(&recursive), 0, "lock in a region", step);
            while (turn != omp_get_thread_num()) need(pthread_cond_wait(&changed, &recursive), 0, "wait", step);
            turn++;
            pthread_cond_broadcast(&changed);
            need(pthread_mutex_unlock(&recursive), 0, "unlock in a region", step);
        }
        sum += turn;
    }
    printf("%.0f\n", sum);
    return 0;
}
