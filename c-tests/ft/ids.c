/* Every thread asks the kernel for its id, again and again, and uses it in the next call: what comes between,
   a rollback too, must not make it another one's, or nobody's. argv[1]: how many regions. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static long failed(const char *call, long result) {
    if (result == 0) return 0;
    fprintf(stderr, "%s: %s\n", call, strerror(errno));
    return 1;
}

/* What is in registers is something else then. */
static __attribute__((noinline)) long work(long a, long b, long c, long d) {
    for (volatile int i = 0; i < 500; i++) a += b ^ c ^ d;
    return a & 0;
}

int main(int argc, char **argv) {
    int regions = argc > 1 ? atoi(argv[1]) : 300;
    long bad = 0, uses = 0, process = getpid();
    for (int r = 0; r < regions; r++) {
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : bad, uses)
        for (int i = 0; i < 64; i++)
            for (int k = 0; k < 30; k++) {
                cpu_set_t cpus;
                bad += work(i, k, k, k);
                errno = 0;
                bad += failed("getpriority", getpriority(PRIO_PROCESS, gettid()) == -1 ? errno : 0);
                bad += work(i, k, k, k);
                bad += failed("sched_getaffinity", sched_getaffinity(gettid(), sizeof cpus, &cpus));
                bad += work(i, k, k, k);
                bad += failed("tgkill", syscall(SYS_tgkill, process, syscall(SYS_gettid), 0));
                uses += 3;
            }
    }
    printf("%ld uses, %ld failed\n", uses, bad);
    return bad != 0;
}
