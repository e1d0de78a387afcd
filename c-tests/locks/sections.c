/* Most of each iteration is done under a lock of the program's own.
   Argument: mutex, checking, writer, c11. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checking;
static pthread_rwlock_t writer = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t c11;

static void take(char how) {
    if (how == 'm') pthread_mutex_lock(&plain);
    if (how == 'c') pthread_mutex_lock(&checking);
    if (how == 'w') pthread_rwlock_wrlock(&writer);
    if (how == '1') mtx_lock(&c11);
}

static void give(char how) {
    if (how == 'm') pthread_mutex_unlock(&plain);
    if (how == 'c') pthread_mutex_unlock(&checking);
    if (how == 'w') pthread_rwlock_unlock(&writer);
    if (how == '1') mtx_unlock(&c11);
}

int main(int argc, char **argv) {
    char how = argc > 1 && strcmp(argv[1], "c11") ? argv[1][0] : '1';
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &a);
    mtx_init(&c11, mtx_plain);
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
    }
    for (int i = 0; i < 200; i++) s += v[i];
    printf("%f\n", s);
    return 0;
}
