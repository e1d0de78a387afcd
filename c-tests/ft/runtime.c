/* Loops with schedule(runtime), of the kind whose number is the argument. Integers: exact. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int work;

int main(int argc, char **argv) {
    long total = 0;
    omp_set_schedule((omp_sched_t)atoi(argc > 1 ? argv[1] : "2"), 3);
    for (int r = 0; r < 20; r++) {
        long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
        for (int i = 0; i < 1000; i++) {
            for (int k = 0; k < 300; k++) work = k;
            sum += (long)i * (r + 1);
        }
        total += sum;
    }
    printf("%ld\n", total);
    return 0;
}
