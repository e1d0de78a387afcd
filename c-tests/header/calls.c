/* Everything in promp.h, called directly: with and without the runtime, in C and C++. */
#include "promp.h"
#include <stdio.h>

int main(void) {
    struct promp_failure failure;
    struct promp_statistics statistics;
    double sum = 0;
    promp_replayable(1);
    promp_frags(2);
    promp_recompute(PROMP_DYNAMIC);
    promp_sdc_checkpoint();
    promp_sdc_detect();
    promp_dead(&sum, 0);
    promp_potential_ckpt();
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += i * 0.5;
    statistics.regions = 0;
    promp_stats(&statistics);
    printf("sum %.1f\n", sum);
    fprintf(stderr, "present %d version %d failures %d regions %d fails %d\n", promp_present(),
            promp_version(),
            (int)promp_failures(&failure, 1), (int)statistics.regions, promp_fail(1000, PROMP_KILL));
    return 0;
}
