/* More threads than CPUs, and an end right behind a region: some threads are then still asleep at its
   end, others wake at that moment. Nine iterations, a piece of work each, and one a thread. */
#include <omp.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void spin(double ns) {
    double from = now();
    while (now() - from < ns) {}
}

int main(void) {
#pragma omp parallel num_threads(8)
    {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 9; i++) spin(1e6);
        spin(omp_get_thread_num() == 0 ? 6e6 : 2e6);
    }
    return 0;
}
