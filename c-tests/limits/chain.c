/* One chain of argv[1] tasks by dependences; how often threads went to sleep meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static long sleeps(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_nvcsw;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 0, chain = 0;
    /* The threads are there. */
#pragma omp parallel
    ;
    long before = sleeps();
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task depend(inout : chain) shared(chain)
        chain++;
    }
    printf("%ld %ld\n", chain, sleeps() - before);
    return 0;
}
