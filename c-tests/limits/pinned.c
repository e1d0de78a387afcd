/* pinned [main]: threads of the program's own that bind themselves to a CPU, or the main thread does, before OpenMP is used. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static void pin(int last) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &all) && (last || !CPU_COUNT(&one))) {
            CPU_ZERO(&one);
            CPU_SET(c, &one);
        }
    sched_setaffinity(0, sizeof one, &one);
}

static void *own(void *last) {
    long sum = 0;
    pin(last != 0);
    for (int i = 0; i < 100; i++)
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum++;
    return (void *)sum;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        long sum = (long)own(0);
        printf("main thread: %ld, %d processors\n", sum, omp_get_num_procs());
        return 0;
    }
    pthread_t threads[2];
    void *sum;
    pthread_create(&threads[0], 0, own, 0);
    pthread_create(&threads[1], 0, own, "last");
    for (int t = 0; t < 2; t++) {
        pthread_join(threads[t], &sum);
        printf("own thread: %ld\n", (long)sum);
    }
    return 0;
}
