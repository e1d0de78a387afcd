/* promp_recompute: how lost iterations are dealt to the survivors of this loop. */
#include "promp.h"
#include <omp.h>
#include <stdio.h>
static long a[400];
int main(int argc, char **argv) {
    PROMP_CALL(promp_replayable(1));
    PROMP_CALL(promp_recompute(argc > 1 ? PROMP_STATIC : PROMP_DYNAMIC));
#pragma omp parallel for schedule(dynamic, 100) num_threads(3)
    for (long i = 0; i < 400; i++) {
        static volatile int once;
        for (volatile int k = 0; k < 20000; k++) {}
        a[i] = i;
        if (i == 150 && !once) {
            once = 1;
            if (promp_present()) promp_fail(omp_get_thread_num(), PROMP_KILL);
        }
    }
    long s = 0;
    for (int i = 0; i < 400; i++) s += a[i];
    printf("%ld\n", s);
    return 0;
}
