/* What the kernel keeps for each thread, set by the threads themselves in one region, asked for in later
   ones: memory policy, I/O priority, nice value, timer slack, CPUs, floating-point control, name,
   capabilities, groups, alternate stack, signal mask, personality. argv[1]: how many regions. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sched.h>
#include <pthread.h>
#include <xmmintrin.h>
#include <fenv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <linux/capability.h>
#include <stddef.h>
#include <errno.h>
#include <signal.h>
#include <sys/personality.h>
enum { N = 14 };
static const char *name[N] = {"mempolicy", "ioprio", "nice", "timerslack", "affinity", "mxcsr", "x87", "name", "caps",
                              "groups", "stack", "mask", "personality", "user"};
static void get(long v[N]) {
    int mode = -1; unsigned long mask[16] = {0};
    syscall(SYS_get_mempolicy, &mode, mask, 1024UL, NULL, 0UL);
    v[0] = mode;
    v[1] = syscall(SYS_ioprio_get, 1, 0);
    v[2] = getpriority(PRIO_PROCESS, syscall(SYS_gettid));
    v[3] = prctl(PR_GET_TIMERSLACK);
    cpu_set_t s; CPU_ZERO(&s); sched_getaffinity(0, sizeof s, &s);
    v[4] = s.__bits[0];
    v[5] = _mm_getcsr() & 0xffc0;
    unsigned short cw; __asm__ volatile("fnstcw %0" : "=m"(cw)); v[6] = cw;
    char n[17] = {0}; prctl(PR_GET_NAME, n); v[7] = 0; for (int i = 0; n[i]; i++) v[7] = v[7] * 31 + n[i];
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0}; struct __user_cap_data_struct d[2] = {{0}};
    syscall(SYS_capget, &h, d); v[8] = d[0].effective;
    gid_t g[64]; int n_groups = syscall(SYS_getgroups, 64, g); v[9] = n_groups;
    for (int i = 0; i < n_groups; i++) v[9] = v[9] * 31 + g[i];
    stack_t st; sigaltstack(NULL, &st); v[10] = (long)st.ss_sp + st.ss_flags;
    sigset_t m; pthread_sigmask(SIG_BLOCK, NULL, &m); v[11] = *(long *)&m & 0xffff;
    v[12] = personality(0xffffffff);
    v[13] = syscall(SYS_geteuid) * 100000 + syscall(SYS_getegid);
}
static volatile double sink;
int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20, n = omp_get_max_threads();
    long want[64][N], bad[N] = {0};
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        unsigned long node0 = 1;
        syscall(SYS_set_mempolicy, 2, &node0, 8UL);            /* MPOL_BIND to node 0 */
        syscall(SYS_ioprio_set, 1, 0, (2 << 13) | (me + 1));
        setpriority(PRIO_PROCESS, syscall(SYS_gettid), me + 1);
        prctl(PR_SET_TIMERSLACK, 100000UL + me);
        cpu_set_t s; CPU_ZERO(&s); CPU_SET(me % 2, &s); sched_setaffinity(0, sizeof s, &s);
        _mm_setcsr(_mm_getcsr() | 0x8040); fesetround(me % 2 ? FE_UPWARD : FE_DOWNWARD);
        char nm[16]; snprintf(nm, sizeof nm, "solver-%d", me); prctl(PR_SET_NAME, nm);
        struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0}; struct __user_cap_data_struct d[2] = {{0}};
        syscall(SYS_capget, &h, d); d[0].effective &= ~(1u << CAP_SYS_TIME); d[0].permitted &= ~(1u << CAP_SYS_TIME); syscall(SYS_capset, &h, d);
        gid_t g[2] = {1000 + me, 77}; syscall(SYS_setgroups, 2, g);
        sigset_t mask; sigemptyset(&mask); sigaddset(&mask, SIGUSR1); if (me % 2) sigaddset(&mask, SIGUSR2); pthread_sigmask(SIG_BLOCK, &mask, NULL);
        static char stacks[64][65536]; stack_t st = {.ss_sp = stacks[me], .ss_size = 65536}; sigaltstack(&st, NULL);
        get(want[me]);
    }
    for (int r = 0; r < rounds; r++) {
#pragma omp parallel
        {
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < 64; i++) for (int k = 0; k < 20000; k++) sink = k;
            long v[N]; get(v);
            int me = omp_get_thread_num();
#pragma omp critical
            for (int k = 0; k < N; k++) if (v[k] != want[me][k]) { if (!bad[k]++) printf("%s: thread %d had %ld, has %ld (region %d)\n", name[k], me, want[me][k], v[k], r + 2); }
        }
    }
    long all = 0;
    for (int k = 0; k < N; k++) all += bad[k];
    printf(all ? "changed %ld times\n" : "kept\n", all);
    return all != 0;
}
