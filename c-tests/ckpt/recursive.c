/* Locks that note who holds them, held while threads fail: the program's, and libc's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust;
static mtx_t c11;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
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
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &how);
    mtx_init(&c11, mtx_plain | mtx_recursive);
    for (int step = 0; step < steps; step++) {
        need(pthread_mutex_lock(&recursive), 0, "lock", step);
        need(pthread_mutex_lock(&recursive), 0, "second lock", step);
        need(pthread_mutex_lock(&checking), 0, "checking lock", step);
        need(pthread_mutex_lock(&robust), 0, "robust lock", step);
        need(mtx_lock(&c11), thrd_success, "C11 lock", step);
        need(pthread_rwlock_wrlock(&table), 0, "lock for writing", step);
        double until = omp_get_wtime() + 0.002, part = 0;
        int turn = 0, busy = 0;
#pragma omp parallel reduction(+ : part, busy)
        {
            if (omp_get_thread_num() == 1)
                busy = (pthread_mutex_trylock(&recursive) == EBUSY) + (pthread_mutex_trylock(&robust) == EBUSY) +
                       (mtx_trylock(&c11) == thrd_busy) + (pthread_rwlock_tryrdlock(&table) == EBUSY);
            /* libc holds its lock for most of this time */
            while (omp_get_wtime() < until)
                need(!setlocale(LC_ALL, "C"), 0, "setlocale", step);
            part = omp_get_thread_num() + step;
        }
        sum += part;
        need(busy, 4, "trylock of another's", step);
        need(pthread_mutex_lock(&checking), EDEADLK, "checking lock again", step);
        need(pthread_mutex_unlock(&checking), 0, "checking unlock", step);
        need(pthread_rwlock_wrlock(&table), EDEADLK, "lock for writing again", step);
        need(pthread_rwlock_unlock(&table), 0, "unlock of what was written", step);
        need(pthread_rwlock_trywrlock(&table), 0, "lock for writing once more", step);
        need(pthread_rwlock_unlock(&table), 0, "last unlock of what was written", step);
        need(mtx_lock(&c11), thrd_success, "C11 lock again", step);
        for (int i = 0; i < 2; i++) need(mtx_unlock(&c11), thrd_success, "C11 unlock", step);
        need(pthread_mutex_unlock(&robust), 0, "robust unlock", step);
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
