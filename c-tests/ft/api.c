/* The C interface: works with and without the runtime. */
#include "promp.h"
#include <omp.h>
#include <stdio.h>

static double a[2000];
static volatile int work;

int main(void) {
    struct promp_failure f[8];
    struct promp_statistics s = {0, 0, 0, 0};
    printf("present %d\n", promp_present());
    PROMP_CALL(promp_potential_ckpt());
    PROMP_CALL(promp_frags(4));
    PROMP_CALL(promp_recompute(PROMP_DYNAMIC));
    /* The user vouches for this region only; the thread that gets iteration 150 is killed there. */
    PROMP_CALL(promp_replayable(1));
#pragma omp parallel for schedule(dynamic, 100) num_threads(3)
    for (int i = 0; i < 2000; i++) {
        static volatile int once;
        for (int k = 0; k < 3000; k++) work = k;
        a[i] = i * 0.5;
        if (i == 150 && !once) {
            once = 1;
            if (promp_present()) promp_fail(omp_get_thread_num(), PROMP_KILL);
        }
    }
    double sum = 0;
    for (int i = 0; i < 2000; i++) sum += a[i];
    printf("sum %.1f\n", sum);
    if (promp_present()) {
        size_t n = promp_failures(f, 8);
        promp_stats(&s);
        fprintf(stderr, "version %d failures %zu regions %d chunks %d\n", promp_version(), n, s.regions >= 1, s.chunks >= 20);
        if (n != 1 || f[0].kind != PROMP_KILL || !f[0].recovered) return 1;
        if (promp_fail(99, PROMP_KILL) != -1 || promp_fail(0, 77) != -1) return 2;
    }
    return 0;
}
