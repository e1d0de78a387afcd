/* attributes STEPS: everything that a process and its threads can set in the kernel for themselves, set at the beginning and looked at in every
   step: rounding and flushing to zero, names, CPUs, nice values, signal masks, dispositions, limits, the file creation mask, flags of
   descriptors; and whether the kernel tells each thread the CPU that it runs on (rseq), where libc asks for that. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
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
#include <unistd.h>
#include <xmmintrin.h>

enum { MOST = 64, FILES = 700, HIGH = 690 };

extern const ptrdiff_t __rseq_offset __attribute__((weak)); /* glibc 2.35 */

struct thread {
    unsigned csr;
    int rounding, nice, cpu;
    char name[16];
    cpu_set_t cpus;
    sigset_t blocked;
};

static struct thread at_first[MOST];
static volatile sig_atomic_t signals;
static int wrong;

static void count(int s, siginfo_t *i, void *c) {
    (void)s, (void)i, (void)c;
    signals++;
}

static void look(struct thread *t) {
    memset(t, 0, sizeof *t);
    t->csr = _mm_getcsr() & ~0x3fu; /* without the flags of what has happened */
    t->rounding = fegetround();
    t->nice = getpriority(PRIO_PROCESS, 0);
    prctl(PR_GET_NAME, t->name);
    sched_getaffinity(0, sizeof t->cpus, &t->cpus);
    struct { unsigned at_start, now; } volatile *cpu = (void *)((char *)__builtin_thread_pointer() + (&__rseq_offset ? __rseq_offset : 0));
    t->cpu = &__rseq_offset ? (int)cpu->now : sched_getcpu();
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, 0, &now);
    for (int s = 1; s < 32; s++)
        if (sigismember(&now, s)) sigaddset(&t->blocked, s);
}

static void expect(const char *what, long is, long wanted) {
    if (is == wanted) return;
#pragma omp atomic
    wrong++;
    fprintf(stderr, "%s: %ld instead of %ld\n", what, is, wanted);
}

static void begin(int me) {
    fesetround(me % 2 ? FE_UPWARD : FE_DOWNWARD);
    if (me % 2 == 0) _mm_setcsr(_mm_getcsr() | 0x8040);
    char name[16];
    snprintf(name, sizeof name, "attributes %d", me);
    prctl(PR_SET_NAME, name);
    cpu_set_t may, one;
    sched_getaffinity(0, sizeof may, &may);
    for (int cpu = 0, n = me % CPU_COUNT(&may); cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && n-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
    if (me == 1) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 2);
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, me ? SIGUSR2 : SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &block, 0);
}

static struct rlimit limit(int resource) {
    struct rlimit r;
    getrlimit(resource, &r);
    return r;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 60;
    struct rlimit files = limit(RLIMIT_NOFILE), stack = limit(RLIMIT_STACK), core = {0, 0};
    files.rlim_cur = FILES;
    stack.rlim_cur = 3 << 20;
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_STACK, &stack);
    setrlimit(RLIMIT_CORE, &core);
    umask(027);
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);
    int high = fcntl(null, F_DUPFD, HIGH);
#pragma omp parallel
    {
        begin(omp_get_thread_num());
        look(&at_first[omp_get_thread_num()]);
    }
    double sum = 0;
    volatile double third = 3;
    for (int step = 0; step < steps; step++) {
        double part[MOST] = {0};
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            double a = 1;
            for (int i = 0; i < 400000; i++) a = a / third + 1;
            part[me] = a;
            struct thread now;
            look(&now);
            struct thread *then = &at_first[me];
            expect("rounding", now.rounding, then->rounding);
            expect("mxcsr", now.csr, then->csr);
            expect("nice", now.nice, then->nice);
            expect("name", strcmp(now.name, then->name), 0);
            expect("CPUs", CPU_EQUAL(&now.cpus, &then->cpus), 1);
            expect("CPU", now.cpu, then->cpu);
            expect("signal mask", memcmp(&now.blocked, &then->blocked, sizeof now.blocked), 0);
        }
        expect("RLIMIT_CORE", limit(RLIMIT_CORE).rlim_cur, 0);
        expect("RLIMIT_NOFILE", limit(RLIMIT_NOFILE).rlim_cur, FILES);
        expect("RLIMIT_STACK", limit(RLIMIT_STACK).rlim_cur, 3 << 20);
        expect("umask", umask(027), 027);
        expect("flags", fcntl(null, F_GETFL) & (O_APPEND | O_ACCMODE), O_APPEND | O_WRONLY);
        expect("FD_CLOEXEC", fcntl(null, F_GETFD), FD_CLOEXEC);
        expect("high descriptor", fcntl(high, F_GETFD), 0);
        struct sigaction now;
        sigaction(SIGPIPE, 0, &now);
        expect("SIGPIPE", now.sa_handler == SIG_IGN, 1);
        int before = signals;
        raise(SIGUSR1);
        expect("SIGUSR1", signals, before + 1);
        for (int i = 0; i < MOST; i++) sum += part[i];
    }
    printf("%.17g, %d wrong\n", sum, wrong);
    return wrong != 0;
}
