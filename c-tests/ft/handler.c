/* A program with a SIGSEGV handler and an alternate stack of its own: both must keep working in and after regions. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf back;
static volatile sig_atomic_t seen;
static void handler(int sig) { seen++, siglongjmp(back, sig); }

int main(void) {
    static char stack[65536];
    stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    sigaltstack(&ss, NULL);
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &sa, NULL);
    long s = 0;
    for (int r = 0; r < 3; r++) {
#pragma omp parallel for reduction(+ : s) schedule(dynamic, 7)
        for (int i = 0; i < 100; i++) s += i;
        if (sigsetjmp(back, 1) == 0) *(volatile int *)(long)(seen * 8) = 1;
    }
    sigaltstack(NULL, &now);
    printf("sum %ld handled %d own stack %d\n", s, (int)seen, now.ss_sp == (void *)stack);
    return 0;
}
