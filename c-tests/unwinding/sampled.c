/* A sampling profiler: a signal every half millisecond of CPU time, whose handler walks the stack of
   whatever thread it comes to, in all kinds of constructs. Each walk has to lead to `main` in the thread
   that the program began with, to the region's function in others if they are in one, and to end by itself.
   argv[1]: walks in the first thread after which it ends; argv[2]: "unwind" for libunwind's walk instead of
   backtrace(3)'s, "steps" for walks from every instruction that is executed in argv[1] rounds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <unistd.h>
#define IN(section_name) __attribute__((noinline, section(#section_name)))
extern char __start_mains[], __stop_mains[];
enum { DEPTH = 200 };
static atomic_long samples, of_main, without_main, endless;
static __thread int is_first;

/* libunwind by hand: its header is not needed to run the library. */
static int (*unw_getcontext)(void *), (*unw_init_local)(void *, void *), (*unw_step)(void *), (*unw_get_reg)(void *, int, unsigned long *);
static int walk_unwind(void **f, int n) {
    static __thread long context[2048], cursor[256];
    unw_getcontext(context);
    if (unw_init_local(cursor, context)) return 0;
    int i = 0;
    do {
        unsigned long ip = 0;
        unw_get_reg(cursor, 16 /* UNW_X86_64_RIP */, &ip);
        f[i++] = (void *)ip;
    } while (i < n && unw_step(cursor) > 0);
    return i;
}
static int (*walk)(void **, int) = backtrace;

static void sample(int s) {
    void *f[DEPTH];
    int n = walk(f, DEPTH), main_seen = 0;
    atomic_fetch_add(&samples, 1);
    if (n == DEPTH) atomic_fetch_add(&endless, 1);
    for (int i = 0; i < n; i++) main_seen |= (char *)f[i] > __start_mains && (char *)f[i] <= __stop_mains;
    if (is_first && !main_seen) {
        dprintf(2, "%d frames\n", n);
        backtrace_symbols_fd(f, n, 2);
    }
    if (is_first) atomic_fetch_add(main_seen ? &of_main : &without_main, 1);
}
/* Every instruction instead of now and then: the CPU's trap flag. Up to four walks from an address. */
enum { ADDRESSES = 1 << 20 };
static _Atomic unsigned char walked[ADDRESSES];
static atomic_long steps;
static int stepping, length = 500, depth = 12;
static void step(int s, siginfo_t *i, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    r[REG_EFL] = stepping ? r[REG_EFL] | 0x100 : r[REG_EFL] & ~0x100L;
    unsigned at = (unsigned)r[REG_RIP] % ADDRESSES;
    steps++;
    /* Linkers need not write frame information for the jump through a library's table. */
    unsigned char *pc = (unsigned char *)r[REG_RIP];
    if (!(pc[0] == 0xff && pc[1] == 0x25) && walked[at] < 4) {
        walked[at]++;
        sample(s);
    }
}
static long sum, tasks;
static long fib(int n) {
    if (n < 2) return n;
    long a, b;
    int own[3] = {0, n, 2}; /* copied by a function of the compiler's */
#pragma omp task shared(a) if(n > 8)
    a = fib(n - 1);
#pragma omp task shared(b) firstprivate(own) final(n < 6)
    b = fib(own[1] - own[2]);
#pragma omp taskwait
    return a + b;
}
__attribute__((noinline)) static void everything(void) {
    int grid[16][16];
    memset(grid, 0, sizeof grid);
#pragma omp parallel reduction(+ : sum)
    {
        if (stepping) raise(SIGTRAP);
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < length; i++) sum += i;
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < length; i++) sum += i;
#pragma omp for schedule(static, 3) ordered
        for (int i = 0; i < 40; i++)
#pragma omp ordered
            sum += 1;
#pragma omp sections
        {
            sum += 1;
#pragma omp section
            sum += 2;
        }
#pragma omp single
        {
            for (int i = 0; i < length / 10; i++)
#pragma omp task
#pragma omp atomic
                tasks++;
            sum += fib(depth) > 0;
#pragma omp taskgroup
#pragma omp taskloop grainsize(2)
            for (int i = 0; i < 20; i++)
#pragma omp atomic
                tasks++;
        }
#pragma omp for ordered(2)
        for (int i = 1; i < 16; i++)
            for (int j = 1; j < 16; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                grid[i][j] = grid[i - 1][j] + grid[i][j - 1] + 1;
#pragma omp ordered depend(source)
            }
#pragma omp critical
        sum += 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += omp_get_thread_num();
#pragma omp barrier
    }
}
static IN(mains) int rounds(int n) {
    long first = 0, wrong = 0;
    for (int r = 0; r < 100000 && of_main + without_main < n; r++) {
        sum = tasks = 0;
        everything();
        if (r == 0) first = sum * 1000 + tasks;
        wrong += sum * 1000 + tasks != first;
    }
    printf("a round's result %ld, others %ld times\n", first, wrong);
    return 0;
}
IN(mains) int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 20;
    if (argc > 2 && !strcmp(argv[2], "unwind")) {
        void *l = dlopen("libunwind.so.8", RTLD_NOW);
        if (!l) return puts("no libunwind"), 77;
        unw_getcontext = dlsym(l, "_Ux86_64_getcontext");
        unw_init_local = dlsym(l, "_ULx86_64_init_local");
        unw_step = dlsym(l, "_ULx86_64_step");
        unw_get_reg = dlsym(l, "_ULx86_64_get_reg");
        walk = walk_unwind;
    }
    int in_steps = argc > 2 && !strcmp(argv[2], "steps");
    is_first = 1;
    void *f[4];
    walk(f, 4); /* loads what it needs */
    struct sigaction sa = {.sa_handler = sample, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &sa, NULL);
    struct itimerval it = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
    if (in_steps) {
        struct sigaction sa = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigaction(SIGTRAP, &sa, NULL);
        stepping = 1, length = 40, depth = 6;
        for (int i = 0; i < n; i++) everything();
        stepping = 0;
        fprintf(stderr, "steps %ld\n", (long)steps);
    } else {
        setitimer(ITIMER_PROF, &it, NULL);
        rounds(n);
    }
    setitimer(ITIMER_PROF, &off, NULL);
    printf("without main %ld endless %ld\n", (long)without_main, (long)endless);
    fprintf(stderr, "samples %ld\n", (long)samples);
    return 0;
}
