/* Threads of the program's own, cancelled between and around regions: no region is left half done, the others go on. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int done;
static void *worker(void *arg) {
    long *sums = arg;
    for (;;) {
        long sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum) schedule(dynamic, 7)
        for (int i = 0; i < 1000; i++) sum += i;
        if (sum != 499500) abort();
        sums[0]++;
        __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
        pthread_testcancel();
    }
}
int main(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t t[3];
        long sums[3] = {0};
        done = 0;
        for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, worker, &sums[i]);
        while (__atomic_load_n(&done, __ATOMIC_RELAXED) < 10) usleep(100);
        for (int i = 0; i < 3; i++) pthread_cancel(t[i]);
        for (int i = 0; i < 3; i++) {
            void *r;
            pthread_join(t[i], &r);
            if (r != PTHREAD_CANCELED) abort();
        }
        long sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += i;
        if (sum != 499500) abort();
    }
    printf("cancelled\n");
    return 0;
}
