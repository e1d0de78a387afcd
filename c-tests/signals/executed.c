/* Which signals a program finds blocked that a thread executes: by every function of libc's that does so, by
   the first thread, a member of a team, a thread of the program's own, with masks of all kinds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
#define GREP "/bin/grep"
#define FILE_ "/proc/self/status"
#define TEN "-e", "a1", "-e", "a2", "-e", "a3", "-e", "a4", "-e", "SigBlk"
static char *args[] = { "grep", "SigBlk", FILE_, NULL };

static void ended(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status) printf("no child, or it failed: %x\n", status);
}

static void executes(int way) {
    int fd = open(GREP, O_RDONLY | O_CLOEXEC);
    if (way == 0) execve(GREP, args, environ);
    if (way == 1) execv(GREP, args);
    if (way == 2) execvp("grep", args);
    if (way == 3) execvpe("grep", args, environ);
    if (way == 4) fexecve(fd, args, environ);
    if (way == 5) execl(GREP, "grep", TEN, FILE_, NULL);
    if (way == 6) execlp("grep", "grep", "SigBlk", FILE_, NULL);
    if (way == 7) execle(GREP, "grep", TEN, FILE_, NULL, environ);
    _exit(9);
}

static void all_ways(const char *who) {
    printf("%s\n", who);
    fflush(stdout);
    for (int way = 0; way < 8; way++) {
        pid_t child = fork();
        if (!child) executes(way);
        ended(child);
    }
    pid_t child = vfork();
    if (!child) {
        execv(GREP, args);
        _exit(9);
    }
    ended(child);
    if (posix_spawn(&child, GREP, NULL, NULL, args, environ)) printf("posix_spawn\n");
    ended(child);
    if (posix_spawnp(&child, "grep", NULL, NULL, args, environ)) printf("posix_spawnp\n");
    ended(child);
    /* The mask that it is given. */
    posix_spawnattr_t a;
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGUSR2);
    posix_spawnattr_init(&a);
    posix_spawnattr_setsigmask(&a, &set);
    posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawn(&child, GREP, NULL, &a, args, environ)) printf("posix_spawn\n");
    ended(child);
    FILE *p = popen("grep SigBlk /proc/self/status", "r");
    char line[100];
    while (p && fgets(line, sizeof line, p)) fputs(line, stdout);
    printf("pclose %d\n", p ? pclose(p) : -1);
    /* One that fails leaves everything as it was. */
    execv("/does/not/exist", args);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    printf("then %d %d %d\n", sigismember(&now, SIGSEGV), sigismember(&now, SIGBUS),
           sigismember(&now, SIGUSR1));
    fflush(stdout);
}

static void *helper(void *unused) {
    all_ways("a thread of its own");
    return NULL;
}

static void with(const char *what, const sigset_t *set) {
    printf("-- %s\n", what);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, set, &before);
    all_ways("the first thread");
    pthread_t t;
    pthread_create(&t, NULL, helper, NULL);
    pthread_join(t, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        sigset_t own;
        pthread_sigmask(SIG_SETMASK, set, &own);
        all_ways("a member");
        pthread_sigmask(SIG_SETMASK, &own, NULL);
    }
}

int main(int argc, char **argv) {
    sigset_t set;
    unsetenv("LD_PRELOAD"); /* what is executed has no runtime that changes its mask */
    sigemptyset(&set);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) sigaddset(&set, SIGUSR1);
    with("one", &set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGBUS);
    with("memory", &set);
    sigfillset(&set);
    with("all", &set);
    sigdelset(&set, SIGUSR1);
    with("all but one", &set);
    /* High ones, by themselves. */
    sigemptyset(&set);
    for (int s = SIGRTMAX - 5; s <= SIGRTMAX - 3; s++) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    all_ways("high ones");
    sigdelset(&set, SIGRTMAX - 4);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    all_ways("one high one");
    sigfillset(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    all_ways("none");
    return 0;
}
