/* A thread that is in a signal's handler while the loader looks up the function for locks that it calls for
   the first time (-Wl,-z,lazy). A checkpoint is taken there; the thread goes back to it on another host, by a
   crash of its own. With LAZY_DIES (a folder) the process dies in front of each such call, and goes on. It
   must find that it holds what it held. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { TRAP = 0x100, DEEP = 60 };
static int steps, struck, last;
static long begun_as;

static int there(int number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/gen-%d", getenv("PROMP_CKPT_DIR"), number);
    return access(path, F_OK) == 0;
}

/* Until a checkpoint is whole that was begun in here: the second one. */
static void wait_for_checkpoints(void) {
    for (int n = 0; n < 2;) {
        if (there(last + 1)) last++, n++;
        else usleep(1000);
    }
}

/* In front of such a call, once, with checkpoints behind the one before. A folder is made, without libc: what
   goes back leaves it. */
static void die(void) {
    static int calls;
    char name[4096];
    if (!getenv("LAZY_DIES")) return;
    snprintf(name, sizeof name, "%s/%d", getenv("LAZY_DIES"), calls++);
    usleep(100000);
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(83L), "D"(name), "S"(0700L) : "rcx", "r11", "memory");
    if (r == 0) kill(getpid(), SIGKILL);
}

static void step(int signal, siginfo_t *info, void *at) {
    greg_t *r = ((ucontext_t *)at)->uc_mcontext.gregs;
    Dl_info where;
    if (!dladdr((void *)r[REG_RIP], &where) || !strstr(where.dli_fname, "ld-linux")) return;
    if (++steps < DEEP) return;
    r[REG_EFL] &= ~TRAP;
    struck++;
    if (!getenv("PROMP_CKPT_DIR")) return;
    while (there(last + 1)) last++;
    wait_for_checkpoints();
    if (syscall(SYS_gettid) == begun_as) *(volatile int *)8 = 0;
}

/* The next call of a function that has not been called yet is the one that is interrupted. */
#define STRUCK(call) ({ \
    die(), steps = 0, begun_as = syscall(SYS_gettid); \
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc"); \
    int r = (call); \
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc"); \
    r; })

static int bad;
static void want(int is, int should, const char *what) {
    if (is != should) printf("%s: %d instead of %d\n", what, is, should), bad++;
}

static pthread_mutex_t of_kind(int kind) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, kind);
    pthread_mutex_init(&m, &a);
    return m;
}

/* By libc's own address: the loader is not asked. */
#define DIRECT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int main(void) {
    int sum = 0;
    struct sigaction sa = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_NODEFER};
#pragma omp parallel reduction(+ : sum)
    sum++;
    struct timespec past = {1, 0};
    pthread_mutex_t checking = of_kind(PTHREAD_MUTEX_ERRORCHECK), again = of_kind(PTHREAD_MUTEX_RECURSIVE);
    pthread_rwlock_t writing = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    mtx_t c11;
    mtx_init(&c11, mtx_recursive);
    sigaction(SIGTRAP, &sa, NULL);
    DIRECT(pthread_mutex_lock)(&checking);
    DIRECT(pthread_mutex_lock)(&again);
    DIRECT(pthread_rwlock_wrlock)(&writing);
    DIRECT(mtx_lock)(&c11);
    want(STRUCK(pthread_cond_timedwait(&never, &checking, &past)), 110, "pthread_cond_timedwait");
    want(STRUCK(pthread_mutex_unlock(&checking)), 0, "pthread_mutex_unlock");
    want(STRUCK(pthread_mutex_trylock(&again)), 0, "pthread_mutex_trylock");
    want(STRUCK(pthread_mutex_timedlock(&again, &past)), 0, "pthread_mutex_timedlock");
    want(STRUCK(pthread_rwlock_unlock(&writing)), 0, "pthread_rwlock_unlock");
    want(DIRECT(pthread_rwlock_trywrlock)(&writing), 0, "pthread_rwlock_trywrlock");
    want(STRUCK(mtx_unlock(&c11)), thrd_success, "mtx_unlock");
    printf("struck %d\n%s\n", struck, bad ? "not kept" : "kept");
    return 0;
}
