/* Every function of promp.h from everywhere that docs/api.md names: serial code, regions, tasks, threads that
 * the program has made, and handlers of signals; with sizes of older and newer structures. */
#define _POSIX_C_SOURCE 200809L
#include "promp.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t seen = -1;
static double block[4096];

static void handler(int number) {
    (void)number;
    seen = promp_present() ? promp_version() : 0;
}

/* 0 if what they say is right. */
static int asks(void) {
    struct promp_failure list[2];
    struct promp_statistics s;
    unsigned char bytes[96];
    size_t known, n = promp_failures(list, 2);
    memset(&s, 0, sizeof s);
    memset(bytes, 7, sizeof bytes);
    promp_stats(&s);
    /* An older structure, of one number, and a newer one. */
    known = promp_stats_sized((struct promp_statistics *)(void *)bytes, 8);
    if (known != (promp_present() ? sizeof s : 0) || bytes[8] != 7) return 1;
    known = promp_stats_sized((struct promp_statistics *)(void *)bytes, 80);
    if (promp_present() && (bytes[40] != 0 || bytes[79] != 0)) return 2;
    if (bytes[80] != 7) return 3;
    if (promp_failures_sized(list, 0, 400) != n || promp_failures_sized(list, 2, 4) != n) return 4;
    if (promp_fail(77, PROMP_KILL) != -1 || promp_fail(-1, PROMP_HANG) != -1 || promp_fail(0, 0) != -1) {
        return 5;
    }
    if (promp_fail(0, PROMP_ENDED) != -1 || promp_fail(0, PROMP_SDC) != -1) return 6;
    return n != 0 || s.failures != 0 ? 7 : 0;
}

static void says(void) {
    promp_replayable(0);
    promp_frags(-3);
    promp_frags(2);
    promp_recompute(17);
    promp_recompute(PROMP_STATIC);
    promp_dead(block, sizeof block);
    promp_dead(NULL, 0);
    promp_potential_ckpt();
}

static void *other(void *wrong) {
    says();
    *(int *)wrong = asks();
    return NULL;
}

int main(void) {
    int wrong = asks(), in_region = 0, in_task = 0, in_thread = 0;
    pthread_t thread;
    says();
    promp_sdc_checkpoint();
    promp_sdc_detect();
    promp_sdc_detect();
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
#pragma omp parallel num_threads(3) reduction(| : in_region)
    {
        says();
        in_region |= asks();
#pragma omp barrier
#pragma omp single
        {
#pragma omp task shared(in_task)
            in_task = asks();
        }
    }
    pthread_create(&thread, NULL, other, &in_thread);
    pthread_join(thread, NULL);
    if (seen != promp_version()) return 1;
    if (wrong | in_region | in_task | in_thread) {
        printf("wrong %d %d %d %d\n", wrong, in_region, in_task, in_thread);
        return 2;
    }
    printf("done\n");
    return 0;
}
