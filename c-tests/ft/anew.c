/* What the kernel keeps for a thread and clone(2) makes anew, and what only the thread itself can ask for:
   set in one region, read back in all later ones. Time that has been used never goes back. argv[1]: how many
   regions; argv[2]: something that cannot be put back, done in region 40 by all threads ("root": by one):
   keyring, folder, files, uts, joins, root, landlock; "number" after it: by its system call. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
struct sched {
    unsigned size, policy;
    unsigned long flags;
    int nice;
    unsigned priority;
    unsigned long times[3];
};
enum { DEATH, SCHEDULING, FLAGS, MEMORY, BITS, GS, RSEQ, ROBUST, ID_WORD, CLOCK, OF_ID, USAGE, PROCESS, TIMES,
       N };
static const char *name[N] = {"signal at the parent's death", "scheduling", "flags of scheduling",
    "memory failures", "securebits", "GS", "rseq", "robust list", "id's word", "clock of the thread",
    "clock by id", "usage", "clock of the process", "times"};
static clockid_t own_clock[64];
static volatile double sink;
extern const ptrdiff_t __rseq_offset __attribute__((weak));
/* Nanoseconds. */
static long now(clockid_t id) {
    struct timespec t;
    return clock_gettime(id, &t) ? -1 : t.tv_sec * 1000000000 + t.tv_nsec;
}
static long usage(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}
/* 1 as long as it does not go back by more than `tick`. */
static int goes_on(long value, long *last, long tick) {
    int on = value >= *last - tick;
    *last = value;
    return on;
}
static void get(long v[N], int me) {
    static __thread long last[5];
    int s = 0;
    prctl(PR_GET_PDEATHSIG, &s);
    v[DEATH] = s;
    struct sched a = {.size = sizeof a};
    syscall(SYS_sched_getattr, 0, &a, sizeof a, 0);
    v[SCHEDULING] = a.policy * 100 + a.nice, v[FLAGS] = a.flags;
    v[MEMORY] = prctl(PR_MCE_KILL_GET, 0, 0, 0, 0);
    v[BITS] = prctl(PR_GET_SECUREBITS);
    unsigned long gs = 0;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
    v[GS] = gs;
    v[RSEQ] = &__rseq_offset ? *(int *)((char *)pthread_self() + __rseq_offset + 4) >= 0 : 1;
    void *head = NULL, *word = NULL;
    size_t size;
    syscall(SYS_get_robust_list, 0, &head, &size);
    prctl(PR_GET_TID_ADDRESS, &word);
    v[ROBUST] = (long)head, v[ID_WORD] = (long)word;
    v[CLOCK] = goes_on(now(CLOCK_THREAD_CPUTIME_ID), &last[0], 0);
    /* The same clock, by the id that the thread had at first. */
    long here = now(own_clock[me]);
    v[OF_ID] = here >= last[0] && now(CLOCK_THREAD_CPUTIME_ID) >= here;
    /* The kernel shares these out between user and system by its ticks. */
    v[USAGE] = goes_on(usage(RUSAGE_THREAD), &last[1], 20000);
    v[PROCESS] = goes_on(now(CLOCK_PROCESS_CPUTIME_ID), &last[2], 0) &&
                 goes_on(usage(RUSAGE_SELF), &last[3], 20000);
    struct tms t;
    times(&t);
    v[TIMES] = goes_on(t.tms_utime + t.tms_stime + clock() / 10000, &last[4], 2);
}
static void set_apart(const char *what, int number, int me) {
    int r = 0;
    if (!strcmp(what, "keyring"))
        r = syscall(SYS_add_key, "user", "k", "x", 1UL, KEY_SPEC_THREAD_KEYRING) < 0;
    int flags = !strcmp(what, "folder") ? CLONE_FS : !strcmp(what, "files") ? CLONE_FILES
              : !strcmp(what, "uts") ? CLONE_NEWUTS : 0;
    if (flags) r = number ? syscall(SYS_unshare, flags) : unshare(flags);
    if (!strcmp(what, "joins")) {
        int fd = open("/proc/self/ns/uts", O_RDONLY);
        r = number ? syscall(SYS_setns, fd, 0) : setns(fd, 0);
        close(fd);
    }
    if (!strcmp(what, "root") && me == 0) r = chroot("/proc");
    if (!strcmp(what, "landlock")) {
        unsigned long rules = 1; /* of executing files */
        int fd = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
        r = fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, fd, 0);
        close(fd);
    }
    if (r) printf("not possible\n"), exit(77);
}
int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20, number = argc > 3;
    const char *apart = argc > 2 ? argv[2] : "";
    static long want[64][N];
    long bad[N] = {0}, all = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        prctl(PR_SET_PDEATHSIG, me % 2 ? SIGUSR1 : SIGWINCH);
        struct sched a = {.size = sizeof a, .policy = SCHED_BATCH, .nice = me + 1, .flags = 1};
        syscall(SYS_sched_setattr, 0, &a, 0);
        prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);
        prctl(PR_SET_SECUREBITS, 1 << 2); /* not everybody may */
        syscall(SYS_arch_prctl, ARCH_SET_GS, 0x10000UL * (me + 1));
        pthread_getcpuclockid(pthread_self(), &own_clock[me]);
        get(want[me], me);
    }
    for (int r = 0; r < rounds; r++) {
#pragma omp parallel
        {
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < 64; i++)
                for (int k = 0; k < 20000; k++) sink = k;
            int me = omp_get_thread_num();
            if (r == 40) set_apart(apart, number, me);
            long v[N];
            get(v, me);
#pragma omp critical
            for (int k = 0; k < N; k++)
                if (v[k] != want[me][k] && !bad[k]++)
                    printf("%s: thread %d had %ld, has %ld (region %d)\n", name[k], me, want[me][k], v[k],
                           r + 2);
        }
    }
    for (int k = 0; k < N; k++) all += bad[k];
    printf(all ? "changed %ld times\n" : "kept\n", all);
    return all != 0;
}
