/* A limit on CPU time that the program sets itself: when it strikes, and what getrlimit says. With "hard" the
   hard one strikes, and the last line says when. */
#define _GNU_SOURCE
#include <omp.h>
#include <spawn.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t struck;
static void strikes(int s) { struck = 1; }

static double used(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int is(const char *what, rlim_t soft, rlim_t hard) {
    struct rlimit r, both;
    getrlimit(RLIMIT_CPU, &r);
    prlimit(0, RLIMIT_CPU, NULL, &both);
    int ok = r.rlim_cur == soft && r.rlim_max == hard && both.rlim_cur == soft && both.rlim_max == hard;
    if (!ok) printf("%s: %ld %ld\n", what, (long)r.rlim_cur, (long)r.rlim_max);
    return ok;
}

int main(int argc, char **argv) {
    int hard = argc > 1 && !strcmp(argv[1], "hard"), ok = 1;
    struct rlimit r = { 4, hard ? 4 : 100 };
    signal(SIGXCPU, hard ? SIG_IGN : strikes);
    if (setrlimit(RLIMIT_CPU, &r)) return 77;
    double now = 0;
    for (int i = 0; !struck && now < 12; i++) {
#pragma omp parallel num_threads(2)
        {
            double until = used(CLOCK_THREAD_CPUTIME_ID) + 0.01;
            while (used(CLOCK_THREAD_CPUTIME_ID) < until) {}
        }
        now = used(CLOCK_PROCESS_CPUTIME_ID);
        if (hard) printf("%.2f\n", now), fflush(stdout);
        if (!struck && now < 2.5) ok &= is("the limit", 4, hard ? 4 : 100);
    }
    printf("struck %d at %.2f, limits %s\n", struck, now, ok ? "as they were set" : "changed");
    /* One that is set now counts from the beginning, too. */
    struct rlimit more = { 50, 100 };
    if (setrlimit(RLIMIT_CPU, &more) || !is("more", 50, 100)) printf("not set\n");
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        /* What the kernel has for it; a hard one that was lowered not everybody may raise. */
        struct rlimit kernels;
        syscall(SYS_prlimit64, 0, RLIMIT_CPU, NULL, &kernels);
        getrlimit(RLIMIT_CPU, &r);
        int same = kernels.rlim_cur == r.rlim_cur && kernels.rlim_max == r.rlim_max;
        if (same && r.rlim_cur == 50) puts("a child has them");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    /* So have programs, however they are executed. */
    char *shows[] = {"sh", "-c", "echo spawned $(ulimit -St)", NULL};
    if (!posix_spawn(&child, "/bin/sh", NULL, NULL, shows, environ)) waitpid(child, NULL, 0);
    child = vfork();
    if (!child) {
        execl("/bin/sh", "sh", "-c", "echo vfork $(ulimit -St)", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    char line[100] = "";
    FILE *f = popen("echo popen $(ulimit -St)", "r");
    if (!fgets(line, sizeof line, f) || pclose(f)) puts("popen fails");
    printf("%s", line), fflush(stdout);
    int status = system("echo system $(ulimit -St); exit 3");
    printf("status %d\n", WEXITSTATUS(status));
    is("afterwards", 50, 100);
    return 0;
}
