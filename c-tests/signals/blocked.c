/* What threads that block all signals see of their masks, and of what they are sent: it waits until they ask
   for it, or do not block it any more. Argument: "late" has the first region come last. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
static volatile sig_atomic_t handled;

static void say(const char *what, const sigset_t *set) {
    printf("%s:", what);
    for (int i = 0; i < 4; i++) printf(" %d", sigismember(set, crashes[i]));
    puts("");
}

static void blocks(const char *what) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    say(what, &now);
}

static void waits(const char *what) {
    sigset_t set;
    sigpending(&set);
    say(what, &set);
}

static sigset_t set_of(int a, int b) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, a);
    if (b) sigaddset(&set, b);
    return set;
}

static void take(int signal) {
    siginfo_t info;
    struct timespec none = { 0, 0 };
    sigset_t set = set_of(signal, 0);
    int got = sigtimedwait(&set, &info, &none);
    printf("taken %d: %d, code %d, %s\n", signal, got, got > 0 ? info.si_code : 0,
           got > 0 && info.si_pid == getpid() ? "own" : "other");
}

static void handler(int s) { handled = s; }

static void in_handler(int s) { blocks("in a handler"); }

static void *helper(void *unused) {
    blocks("a thread of its own");
    pthread_kill(pthread_self(), SIGBUS);
    waits("sent to it");
    take(SIGBUS);
    return NULL;
}

static void region(void) {
    long sum = 0;
    #pragma omp parallel num_threads(4) reduction(+ : sum)
    for (int k = 0; k < 20000000; k++) sum += k & 7;
    printf("sum %ld\n", sum);
}

int main(int argc, char **argv) {
    int late = argc > 1;
    sigset_t all, before, some;
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    say("before", &before);
    blocks("all");
    raise(SIGSEGV);
    waits("raised");
    kill(getpid(), SIGBUS);
    waits("sent to the process");
    if (!late) region();
    waits("behind a region");
    take(SIGSEGV);
    take(SIGBUS);
    take(SIGSEGV);
    pthread_t t;
    pthread_create(&t, NULL, helper, NULL);
    pthread_join(t, NULL);
    some = set_of(SIGFPE, 0);
    pthread_sigmask(SIG_UNBLOCK, &some, &before);
    say("before", &before);
    blocks("one of the others less");
    some = set_of(SIGBUS, 0);
    pthread_sigmask(SIG_UNBLOCK, &some, NULL);
    blocks("one less");
    raise(SIGSEGV);
    struct sigaction act, was;
    memset(&act, 0, sizeof act);
    act.sa_handler = handler;
    sigaction(SIGBUS, &act, &was);
    raise(SIGBUS);
    printf("handled %d\n", handled == SIGBUS);
    sigaction(SIGBUS, &was, NULL);
    waits("the other one");
    take(SIGSEGV);
    some = set_of(SIGSEGV, SIGBUS);
    sigprocmask(SIG_SETMASK, &some, &before);
    say("before", &before);
    blocks("only two");
    sigjmp_buf back;
    if (!sigsetjmp(back, 1)) {
        sigprocmask(SIG_UNBLOCK, &some, NULL);
        blocks("none");
        siglongjmp(back, 1);
    }
    blocks("back");
    act.sa_handler = in_handler;
    sigfillset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
    raise(SIGUSR1);
    blocks("behind it");
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        blocks("a child");
        raise(SIGBUS);
        waits("raised");
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("ended %d\n", status);
    if (late) region();
    /* What is sent to the process ends it if somebody does not block it. */
    child = fork();
    if (!child) {
        raise(SIGSEGV);
        sigprocmask(SIG_UNBLOCK, &some, NULL);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("ended by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
