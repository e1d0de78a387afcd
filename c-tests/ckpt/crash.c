/* A crash that comes back: the program's own error. With "handler", it has a handler of its own. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void mine(int sig) {
    if (write(1, "mine\n", 5)) {}
    _exit(9);
}
int main(int argc, char **argv) {
    if (argc > 1) signal(SIGSEGV, mine);
    volatile double *p = malloc(1000 * sizeof *p);
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) p[i] = i;
    printf("before\n");
    fflush(stdout);
    p = NULL;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) p[5] = 1;
    return 0;
}
