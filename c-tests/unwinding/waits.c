/* Stands still at argv[1], for a debugger to look at: one thread in the region sleeps, the others wait for it
   in the runtime. Says "ready" when it does. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char *where;
static volatile int in;
__attribute__((noinline)) static void stand(void) {
    usleep(300000); /* until the others wait */
    puts("ready");
    fflush(stdout);
    sleep(60);
}
static int is(const char *w) { return !strcmp(where, w); }
__attribute__((noinline)) int solver(void) {
    int x = 0;
#pragma omp parallel num_threads(3) reduction(+ : x)
    {
        int me = omp_get_thread_num();
        /* Three regions of code where every thread comes by: a fault may have changed hosts here. */
        for (int k = 0; k < 3; k++) {
#pragma omp barrier
        }
        if (is("barrier")) {
            if (me == 1) stand();
#pragma omp barrier
        } else if (is("critical")) {
            if (me == 1)
#pragma omp critical
                { in = 1; stand(); }
            while (!in) usleep(1000);
#pragma omp critical
            x++;
        } else if (is("single")) {
#pragma omp single
            stand();
        } else if (is("ordered")) {
#pragma omp for ordered schedule(static, 1)
            for (int i = 0; i < 3; i++)
#pragma omp ordered
                if (i == 0) stand();
        } else if (is("taskwait")) {
#pragma omp single
            {
#pragma omp task shared(x)
                stand();
#pragma omp taskwait
            }
        } else if (is("doacross")) {
#pragma omp for ordered(1) schedule(static, 1)
            for (int i = 0; i < 3; i++) {
#pragma omp ordered depend(sink : i - 1)
                if (i == 0) stand();
#pragma omp ordered depend(source)
            }
        } else if (is("end") && me == 1) {
            stand();
        }
    }
    return x;
}
int main(int argc, char **argv) {
    where = argv[1];
    return solver();
}
