/* Recursive Fibonacci numbers, a task for every call; below the cut-off all tasks are included (`final`):
   the code is the same, the runtime has to execute them at once. */
#include "program.h"

static long long fib(int n, int cut) {
    if (n < 2) return n;
    long long a, b;
#pragma omp task shared(a) final(n < cut)
    a = fib(n - 1, cut);
#pragma omp task shared(b) final(n < cut)
    b = fib(n - 2, cut);
#pragma omp taskwait
    return a + b;
}

static long long solve(int n) {
    long long r = 0;
#pragma omp parallel
#pragma omp single
    r = fib(n, n - 6);
    return r;
}
PROGRAM(25)
