/* Several threads of the program's own, each starting regions, some ending before others; thread-local data stays theirs. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

static __thread long mine;

static void *run(void *arg) {
    long id = (long)arg, s = 0;
    mine = id * 1000;
    for (int r = 0; r < 50; r++) {
#pragma omp parallel for reduction(+ : s) schedule(dynamic, 11) num_threads(3)
        for (int i = 0; i < 300; i++) s += i * id;
        mine++;
    }
    return (void *)(s + mine);
}

int main(void) {
    long total = 0;
    for (int round = 0; round < 5; round++) {
        pthread_t t[6];
        for (long i = 0; i < 6; i++) pthread_create(&t[i], NULL, run, (void *)(i + 1));
        for (int i = 0; i < 6; i++) {
            void *r;
            pthread_join(t[i], &r);
            total += (long)r;
        }
    }
    printf("threads %ld\n", total);
    return 0;
}
