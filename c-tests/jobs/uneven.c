/* Regions in which one thread computes for 0.2 s of its CPU's time and the other waits for it. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(void) {
    long s = 0;
    for (int r = 0; r < 8; r++) {
#pragma omp parallel num_threads(2) reduction(+ : s)
        {
            double end = cpu() + 0.2;
            while (omp_get_thread_num() == 1 && cpu() < end)
                ;
            s += r;
        }
    }
    printf("s %ld\n", s);
    return 0;
}
