/* hardened STEPS [once]: what a program sets in the kernel for the process, its threads and its mappings
   (prctl, setrlimit, /proc, madvise, mlock, mbind, personality). In each step it is what the step before has
   made it, and becomes something else. once: set at the beginning alone, with what cannot be taken back
   (a session, PR_SET_MDWE, mlockall, mseal). What the system does not have, or not allow, is left out. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MDWE = 65, GET_MDWE = 66, SPECULATION = 52, MEMORY_MERGE = 67, GET_MERGE = 68, MSEAL = 462 };
enum { PAGES = 8, PAGE = 4096, MOST = 64, STICKY_TIMEOUTS_BIT = 0x4000000 };
enum { DUMPABLE, FORBIDS_EXEC, NO_HUGE, MERGED, REAPER, FILTER, OOM, SESSION, GROUP, CORE, FILES, SOFT_FILES,
       LOCKS, MASK, FUTURE, SAID, N = SAID + PAGES };
static const char *const name[] = {"dumpable", "MDWE", "THP disabled", "merged", "reaper", "coredump_filter",
    "oom_score_adj", "session", "group", "RLIMIT_CORE", "RLIMIT_NOFILE", "soft RLIMIT_NOFILE", "RLIMIT_LOCKS",
    "umask", "MCL_FUTURE", "page 0", "page 1", "page 2", "page 3", "page 4", "page 5", "page 6", "page 7"};
static char *page[PAGES];
static int may_raise, own_session;

static long number(const char *path, int base) {
    char text[40] = "";
    int f = open(path, O_RDONLY);
    if (f < 0 || read(f, text, 39) < 0) text[0] = 0;
    close(f);
    return strtol(text, 0, base);
}

static void put(const char *path, long value, const char *form) {
    char text[40];
    int f = open(path, O_WRONLY), len = snprintf(text, sizeof text, form, value);
    if (f >= 0 && write(f, text, len) < 0) len = 0;
    close(f);
}

static struct rlimit limit(int which) {
    struct rlimit r;
    getrlimit(which, &r);
    return r;
}

/* The words that say what is said of a mapping, a bit each. */
static long words(const char *line) {
    const char *const known[] = {" dc ", " dd ", " wf ", " lo ", " lf ", " sr ", " rr ", " sl "};
    long found = 0;
    for (int i = 0; i < 8; i++) found |= (long)(strstr(line, known[i]) != 0) << i;
    return found;
}

/* And the memory policies. */
static void mappings(long v[N]) {
    char *probe = mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), line[600];
    unsigned long a, b, from = 0, to = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2 && strchr(line, '-') < strchr(line, ' ')) from = a, to = b;
        if (strncmp(line, "VmFlags", 7)) continue;
        for (int i = 0; i <= PAGES; i++) {
            unsigned long at = (unsigned long)(i < PAGES ? page[i] : probe);
            if (from <= at && at < to) v[i < PAGES ? SAID + i : FUTURE] = words(line);
        }
    }
    if (f) fclose(f);
    munmap(probe, PAGE);
    for (int i = 0; i < PAGES; i++) {
        int mode = 0;
        unsigned long nodes[16] = {0};
        syscall(SYS_get_mempolicy, &mode, nodes, 1024UL, page[i], 2UL);
        v[SAID + i] |= (long)mode << 16 | nodes[0] << 24;
    }
}

static void get_once(long v[N]) {
    int reaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0);
    memset(v, 0, N * sizeof *v);
    v[DUMPABLE] = prctl(PR_GET_DUMPABLE);
    v[FORBIDS_EXEC] = prctl(GET_MDWE, 0, 0, 0, 0);
    v[NO_HUGE] = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    v[MERGED] = prctl(GET_MERGE, 0, 0, 0, 0);
    v[REAPER] = reaper;
    v[FILTER] = number("/proc/self/coredump_filter", 16);
    v[OOM] = number("/proc/self/oom_score_adj", 10);
    v[SESSION] = !own_session || getsid(0) == getpid();
    v[GROUP] = !own_session || getpgid(0) == getpid();
    v[CORE] = limit(RLIMIT_CORE).rlim_max;
    v[FILES] = limit(RLIMIT_NOFILE).rlim_max;
    v[SOFT_FILES] = limit(RLIMIT_NOFILE).rlim_cur;
    v[LOCKS] = limit(RLIMIT_LOCKS).rlim_max;
    v[MASK] = umask(0);
    umask(v[MASK]);
    mappings(v);
}

/* Twice the same: a new process has another /proc/self/smaps than the one that has read half of it. */
static void get(long v[N]) {
    static long again[N];
    get_once(v);
    while (get_once(again), memcmp(v, again, sizeof again)) memcpy(v, again, sizeof again);
}

/* May the program make a hard limit higher? */
static int raises(void) {
    struct rlimit before = limit(RLIMIT_LOCKS), lower = {0, 100};
    return !setrlimit(RLIMIT_LOCKS, &lower) && !setrlimit(RLIMIT_LOCKS, &before);
}

/* What step `k` sets. */
static void set(int k) {
    prctl(PR_SET_THP_DISABLE, k / 3 % 2, 0, 0, 0);
    prctl(MEMORY_MERGE, k / 5 % 2, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, k / 2 % 2, 0, 0, 0);
    put("/proc/self/coredump_filter", 1 + k % 31, "0x%lx");
    put("/proc/self/oom_score_adj", 100 + k % 50, "%ld");
    int h = may_raise ? k : 0; /* or a rollback could not undo it */
    struct rlimit core = {0, 1 << 20 | h}, files = {400 + k % 100, 900 - h % 100}, locks = {k % 7, 7 + h % 7};
    setrlimit(RLIMIT_CORE, &core);
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_LOCKS, &locks);
    umask(k % 8 * 8);
    madvise(page[0], PAGE, k & 1 ? MADV_DONTFORK : MADV_DOFORK);
    madvise(page[1], PAGE, k & 2 ? MADV_DONTDUMP : MADV_DODUMP);
    madvise(page[2], PAGE, k & 4 ? MADV_WIPEONFORK : MADV_KEEPONFORK);
    if (k & 1) mlock(page[3], PAGE);
    else munlock(page[3], PAGE);
    if (k & 2) mlock2(page[4], PAGE, MLOCK_ONFAULT);
    else munlock(page[4], PAGE);
    madvise(page[5], PAGE, k & 4 ? MADV_RANDOM : k & 8 ? MADV_SEQUENTIAL : MADV_NORMAL);
    unsigned long node = 1;
    syscall(SYS_mbind, page[6], (long)PAGE, k & 1 ? 2L : 0L, k & 1 ? &node : 0, k & 1 ? 8L : 0L, 0L);
    prctl(PR_SET_DUMPABLE, k % 2, 0, 0, 0);
}

static void set_once(void) {
    own_session = setsid() > 0; /* or it is as it was started */
    mlockall(MCL_FUTURE | MCL_ONFAULT);
    enum { MUCH = 256 << 20 };
    void *more = mmap(0, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) munlockall(); /* or there are no threads */
    else munmap(more, MUCH);
    syscall(MSEAL, page[7], (long)PAGE, 0L);
    prctl(MDWE, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* A thread's own: its personality, whether stores are passed, when its timers may be late. */
static void of_thread(long v[3]) {
    v[0] = personality(0xffffffff);
    v[1] = prctl(SPECULATION, 0, 0, 0, 0);
    v[2] = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

static void set_thread(int k) {
    long now = personality(0xffffffff);
    personality(k & 1 ? now | STICKY_TIMEOUTS_BIT : now & ~STICKY_TIMEOUTS_BIT);
    prctl(SPECULATION + 1, 0, k & 2 ? 4 : 2, 0, 0);
    prctl(PR_SET_TIMERSLACK, 50000L + k, 0, 0, 0);
}

static void expect(const char *what, long is, long wanted, int step) {
    if (is == wanted) return;
#pragma omp critical
    {
        printf("%s: was %ld, is %ld in step %d\n", what, wanted, is, step);
        exit(1);
    }
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 100, once = argc > 2;
    static long want[N], now[N], of[MOST][3];
    double sum = 0;
    for (int i = 0; i < PAGES; i++) {
        page[i] = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        page[i] += PAGE;
        page[i][0] = i;
    }
    may_raise = raises();
    set(7);
    if (once) set_once();
    get(want);
    for (int step = 0; step < steps; step++) {
#pragma omp parallel reduction(+ : sum)
        {
            int me = omp_get_thread_num();
            long mine[3];
            of_thread(mine);
            for (int i = 0; step && i < 3; i++) expect("of a thread", mine[i], of[me][i], step);
            set_thread(step + me);
            of_thread(of[me]);
#pragma omp for schedule(dynamic, 10)
            for (int i = 0; i < 200; i++)
                for (int j = 0; j < 200; j++) sum += j;
        }
        get(now);
        for (int i = 0; i < N; i++) expect(name[i], now[i], want[i], step);
        for (int i = 0; i < PAGES; i++) expect("content", page[i][0], i, step);
        if (!once) {
            set(step);
            get(want);
        }
    }
    puts(sum == steps * 200 * 19900.0 ? "kept" : "another sum");
    return 0;
}
