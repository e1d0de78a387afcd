/* Signals that are sent to one thread of a team, again and again, while its hosts change: each is delivered
   once, to the thread that it was sent to, on that thread's own stack, with its mask. Arguments: how it is
   sent (kill, queue, tgkill, syscall, tkill, info), how many signals each thread gets at least, how many
   rounds of work there are at least. Prints what went wrong, and the sum of the work. */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define N 400

static pthread_t thread[THREADS];
static pid_t id[THREADS];
static char *low[THREADS], *high[THREADS];
static atomic_long sent[THREADS], taken[THREADS], strange, errors, ended;
static _Atomic(int) ready, stop;
static int last_error, sig;
static __thread int number = -1;

static void handler(int s, siginfo_t *info, void *context) {
    char here;
    int n = number;
    if (n < 0 || !pthread_equal(pthread_self(), thread[n])) { strange++; return; }
    if (&here < low[n] || &here > high[n]) strange++;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (!sigismember(&mask, SIGUSR2)) strange++;
    if (sigismember(&((ucontext_t *)context)->uc_sigmask, SIGUSR2) != 0) strange++;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int != n) strange++;
    taken[n]++;
}

static int send(const char *how, int n) {
    if (!strcmp(how, "kill")) return pthread_kill(thread[n], sig);
    if (!strcmp(how, "queue")) return pthread_sigqueue(thread[n], sig, (union sigval){.sival_int = n});
    int r = -1;
    if (!strcmp(how, "tgkill")) r = tgkill(getpid(), id[n], sig);
    if (!strcmp(how, "syscall")) r = syscall(SYS_tgkill, getpid(), id[n], sig);
    if (!strcmp(how, "tkill")) r = syscall(SYS_tkill, id[n], sig);
    if (!strcmp(how, "info")) {
        siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE, .si_value = {.sival_int = n}};
        info.si_pid = getpid(), info.si_uid = getuid();
        r = syscall(SYS_rt_tgsigqueueinfo, getpid(), id[n], sig, &info);
    }
    return r < 0 ? errno : 0;
}

static void *sender(void *how) {
    while (!ready) sched_yield();
    for (long round = 0; !stop; round++)
        for (int n = 0; n < THREADS && !stop; n++) {
            /* Not more at once than a host can have waiting. */
            if (sent[n] - taken[n] > 200) { sched_yield(); continue; }
            int r = send(how, n);
            if (r == 0) sent[n]++;
            else if (r != EAGAIN) errors++, last_error = r;
        }
    ended = 1;
    return NULL;
}

static double work(int i) {
    volatile double x = i;
    for (int k = 0; k < 2000; k++) x = x * 0.5 + k;
    return x;
}

int main(int argc, char **argv) {
    long least = argc > 2 ? atol(argv[2]) : 200;
    int rounds = argc > 3 ? atoi(argv[3]) : 20;
    sig = SIGRTMIN + 3;
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&a.sa_mask), sigaddset(&a.sa_mask, SIGUSR2);
    sigaction(sig, &a, NULL);
    pthread_t s;
    /* Only those to whom it is sent take it. */
    sigset_t it, before;
    sigemptyset(&it), sigaddset(&it, sig);
    pthread_sigmask(SIG_BLOCK, &it, &before);
    pthread_create(&s, NULL, sender, argc > 1 ? argv[1] : "kill");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    static double v[N];
    #pragma omp parallel num_threads(THREADS)
    {
        int n = omp_get_thread_num();
        pthread_attr_t attr;
        void *at;
        size_t size;
        pthread_getattr_np(pthread_self(), &attr);
        pthread_attr_getstack(&attr, &at, &size);
        pthread_attr_destroy(&attr);
        thread[n] = pthread_self(), id[n] = syscall(SYS_gettid);
        low[n] = at, high[n] = (char *)at + size;
        number = n;
    }
    ready = 1;
    double sum = 0;
    long enough = THREADS * least;
    for (int round = 0; round < rounds || taken[0] + taken[1] + taken[2] + taken[3] < enough; round++) {
        #pragma omp parallel for num_threads(THREADS) schedule(dynamic, 5)
        for (int i = 0; i < N; i++) v[i] = work(i);
        sum = 0;
        for (int i = 0; i < N; i++) sum += v[i];
        if (round > 1000 * rounds) break;
    }
    stop = 1;
    pthread_join(s, NULL);
    int late = 0;
    long lost = 0;
    do {
        /* In the runtime's barrier, too. */
        #pragma omp parallel num_threads(THREADS)
        { }
        lost = 0;
        for (int n = 0; n < THREADS; n++) lost += labs(sent[n] - taken[n]);
        if (lost) usleep(1000);
    } while (lost && late++ < 3000);
    if (strange || errors || lost)
        for (int n = 0; n < THREADS; n++)
            fprintf(stderr, "thread %d: sent %ld, taken %ld\n", n, sent[n], taken[n]);
    if (errors) fprintf(stderr, "last error: %s\n", strerror(last_error));
    printf("lost %ld strange %ld errors %ld sum %.6f\n", lost, (long)strange, (long)errors, sum);
    return 0;
}
