/* The function of promp.h that the argument names: what comes of it, and of a loop behind it. What must come
 * is in tests/api_table.rs. */
#include "promp.h"
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
long sum_of(void (*first)(void));

static double block[100];
static int failed = 7;

static void fails(void) { failed = promp_fail(1, PROMP_KILL); }

/* Of the only failure: its kind, and whether all is there again. */
static long first_of(const struct promp_failure *list, size_t n) {
    return n == 1 ? 100 + 10 * (long)list->kind + (long)list->recovered : (long)n;
}

int main(int argc, char **argv) {
    struct promp_statistics s = {7, 7, 7, 7};
    struct promp_failure list[4];
    const char *name = argc > 1 ? argv[1] : "";
    long value = 0, sum = 0;
    int is = 0;
#define IS(word) (!strcmp(name, "promp_" word) && ++is)
    if (IS("version")) value = promp_version();
    if (IS("present")) value = promp_present();
    if (IS("potential_ckpt")) promp_potential_ckpt();
    if (IS("dead")) promp_dead(block, sizeof block);
    if (IS("replayable")) promp_replayable(1);
    if (IS("frags")) promp_frags(8);
    if (IS("recompute")) promp_recompute(PROMP_DYNAMIC);
    if (IS("sdc_checkpoint")) promp_sdc_checkpoint();
    if (IS("sdc_detect")) promp_sdc_detect();
    if (IS("fail")) {
        promp_replayable(1);
        sum = sum_of(fails);
        value = failed;
    }
    if (IS("failures") || IS("failures_sized")) {
        promp_replayable(1);
        sum = sum_of(NULL);
        value = first_of(list, strcmp(name, "promp_failures") ? promp_failures_sized(list, 4, sizeof *list)
                                                              : promp_failures(list, 4));
    }
    if (IS("stats")) {
        sum = sum_of(NULL);
        promp_stats(&s);
        value = (long)s.regions;
    }
    if (IS("stats_sized")) {
        sum = sum_of(NULL);
        if (promp_stats_sized(&s, sizeof s) != (promp_present() ? sizeof s : 0)) return 1;
        value = (long)s.regions;
    }
    if (is != 1) return 2;
    printf("%ld %ld\n", value, sum ? sum : sum_of(NULL));
    return 0;
}
