/* Most of each iteration is done under a lock of the program's own.
   Argument: mutex, checking, writer, c11; those that nobody notes an owner for: spin, post (a semaphore),
   reader. */
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checking;
static pthread_rwlock_t writer = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t c11;
static pthread_spinlock_t spin;
static sem_t post;

static void take(char how) {
    if (how == 'm') pthread_mutex_lock(&plain);
    if (how == 'c') pthread_mutex_lock(&checking);
    if (how == 'w') pthread_rwlock_wrlock(&writer);
    if (how == '1') mtx_lock(&c11);
    if (how == 's') pthread_spin_lock(&spin);
    if (how == 'p') sem_wait(&post);
    if (how == 'r') pthread_rwlock_rdlock(&writer);
}

static void give(char how) {
    if (how == 'm') pthread_mutex_unlock(&plain);
    if (how == 'c') pthread_mutex_unlock(&checking);
    if (how == 'w' || how == 'r') pthread_rwlock_unlock(&writer);
    if (how == '1') mtx_unlock(&c11);
    if (how == 's') pthread_spin_unlock(&spin);
    if (how == 'p') sem_post(&post);
}

int main(int argc, char **argv) {
    char how = argc > 1 && strcmp(argv[1], "c11") ? argv[1][0] : '1';
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &a);
    mtx_init(&c11, mtx_plain);
    pthread_spin_init(&spin, 0);
    sem_init(&post, 0, 1);
    static double v[200];
    double s = 0;
    for (int r = 0; r < 20; r++) {
        #pragma omp parallel for schedule(dynamic, 5)
        for (int i = 0; i < 200; i++) {
            volatile double x = i;
            take(how);
            for (int k = 0; k < 4000; k++) x = x * 0.5 + k;
            give(how);
            v[i] = x;
        }
        /* Nobody reads any more. */
        pthread_rwlock_wrlock(&writer);
        pthread_rwlock_unlock(&writer);
    }
    for (int i = 0; i < 200; i++) s += v[i];
    printf("%f\n", s);
    return 0;
}
