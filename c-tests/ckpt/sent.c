/* A SIGSEGV that was sent to the process, whose threads all block it, while memory changes as a whole: it waits until the end. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    size_t n = (size_t)atol(argv[1]) << 17, sweeps = argc > 2 ? atol(argv[2]) : 200;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    long *m = malloc(n * sizeof *m), wrong = 0;
    for (size_t s = 0; s < sweeps; s++) {
#pragma omp parallel for
        for (size_t i = 0; i < n; i++) m[i] = i ^ s;
        if (s == 0) kill(getpid(), SIGSEGV);
    }
    for (size_t i = 0; i < n; i++) wrong += m[i] != (long)(i ^ (sweeps - 1));
    sigpending(&all);
    printf("wrong %ld waits %d\n", wrong, sigismember(&all, SIGSEGV));
    return 0;
}
