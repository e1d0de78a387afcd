/* Work of known length, by the thread's own CPU clock: so it does not matter what else the machine does. */
#include <time.h>

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* So many milliseconds. */
static inline void work(double ms) {
    double until = cpu_s() + 1e-3 * ms;
    while (cpu_s() < until) {
        for (volatile int i = 0; i < 1000; i++) {}
    }
}
