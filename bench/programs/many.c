/* A team of very many threads: regions with a barrier, a short dynamic loop and a single. The argument is
   the number of threads, whatever OMP_NUM_THREADS says; with 10,000 and more there are two regions. */
#include "program.h"

enum { HUGE = 10000 };

static long long solve(int threads) {
    long long sum = 0;
    for (int r = 0; r < (threads < HUGE ? 6 : 2); r++) {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
            sum += omp_get_thread_num();
#pragma omp barrier
#pragma omp for schedule(dynamic)
            for (int i = 0; i < threads; i++) sum += i;
#pragma omp single
            sum++;
        }
    }
    return sum;
}
PROGRAM(1000)
