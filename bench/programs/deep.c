/* Tasks within each other, as deep as the argument: the bytes of stack that a level takes, in the program and
   in the runtime, in a region. */
#include "program.h"

static char *lowest;

static void note(char *at) {
    if (!lowest || at < lowest) lowest = at;
}

__attribute__((noinline)) static void undeferred(long n) {
    char here;
    note(&here);
    if (n == 0) return;
#pragma omp task if (0)
    undeferred(n - 1);
}

__attribute__((noinline)) static void included(long n) {
    char here;
    note(&here);
    if (n == 0) return;
#pragma omp task
    included(n - 1);
}

static long long solve(int depth) {
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        char here;
        lowest = NULL;
        undeferred(depth);
        printf("stack, undeferred task in a task\t%ld\n", (long)(&here - lowest) / depth);
    }
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        char *first = NULL;
        lowest = NULL;
#pragma omp task final(1) if (0) shared(first)
        {
            char here;
            first = &here;
            included(depth);
        }
        printf("stack, task in a final task\t%ld\n", (long)(first - lowest) / depth);
    }
    return depth;
}

int main(int argc, char **argv) {
    solve(argc > 1 ? atoi(argv[1]) : 1000);
    return 0;
}
