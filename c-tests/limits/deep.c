/* Undeferred tasks within each other, argv[1] deep, in serial code and in a region of two threads: the bytes
   of stack that a level takes, in the program and in the runtime, on stderr. */
#include <stdio.h>
#include <stdlib.h>

static char *lowest;

__attribute__((noinline)) static long plain(long n) {
    char here, *volatile at = &here;
    if (!lowest || at < lowest) lowest = at;
    long r = 0;
    if (n == 0) return 0;
#pragma omp task shared(r) if (0)
    r = plain(n - 1) + 1;
    return r;
}

static void measure(const char *where, long n) {
    char top, *volatile at = &top;
    lowest = NULL;
    long levels = plain(n);
    printf("%s: %ld levels\n", where, levels);
    fprintf(stderr, "%ld\n", (long)(at - lowest) / n);
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000;
    measure("serial", n);
#pragma omp parallel num_threads(2)
#pragma omp master
    measure("region", n);
    return 0;
}
