/* A thread of the program's own reads the stacks of all others all the time, so that it meets what is lost
   there before it is stopped. Argument: it blocks all signals, as helpers of libraries do. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static volatile double *volatile where[4];
static volatile int stop;
static void *reads(void *sum) {
    double s = 0;
    while (!stop)
        for (int n = 0; n < 4; n++) if (where[n]) s += *where[n];
    *(double *)sum = s;
    return NULL;
}
__attribute__((noinline)) static double work(int i) {
    volatile double x = i;
    where[omp_get_thread_num()] = &x;
    for (int k = 0; k < 20000; k++) x = x * 0.5 + k;
    return x;
}
int main(int argc, char **argv) {
    static double v[400], seen;
    pthread_t t;
    sigset_t all, before;
    sigfillset(&all);
    if (argc > 1) pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&t, NULL, reads, &seen);
    if (argc > 1) pthread_sigmask(SIG_SETMASK, &before, NULL);
    double sum = 0;
    for (int round = 0; round < 20; round++) {
        #pragma omp parallel for schedule(static)
        for (int i = 0; i < 400; i++) v[i] = work(i);
        for (int i = 0; i < 400; i++) sum += v[i];
    }
    stop = 1;
    pthread_join(t, NULL);
    printf("%.6f\n", sum);
    return 0;
}
