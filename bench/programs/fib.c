/* Recursive Fibonacci numbers, a task for every call: nothing but task creation and taskwait. */
#include "program.h"

static long long fib(int n) {
    if (n < 2) return n;
    long long a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long long solve(int n) {
    long long r = 0;
#pragma omp parallel
#pragma omp single
    r = fib(n);
    return r;
}
PROGRAM(25)
