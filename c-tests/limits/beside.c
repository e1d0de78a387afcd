// Threads of the program's own compute beside a team: as many as the argument says, until the team is done.
// Prints the sum of what the members of the team have counted between barriers.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int over;

static void *compute(void *counted) {
    volatile long *n = counted;
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        ++*n;
    return 0;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t *own = calloc(n, sizeof *own);
    long *counted = calloc(n, 64), sum = 0;
    for (int i = 0; i < n; i++)
        pthread_create(&own[i], 0, compute, counted + 8 * i);
#pragma omp parallel
    for (int i = 0; i < 5000; i++) {
#pragma omp atomic
        sum += i % 7;
#pragma omp barrier
    }
    over = 1;
    for (int i = 0; i < n; i++)
        pthread_join(own[i], 0);
    printf("sum %ld\n", sum);
}
