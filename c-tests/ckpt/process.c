/* A program that changes what the kernel keeps of it: its folder, its umask, timers, children, where its output goes. In each of its steps one of these,
   with work that must not be repeated before and after. It gets the name of a file, and prints what it finds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 50000 };
static double a[N];
static char start[4096];

static void work(long x) {
#pragma omp parallel for schedule(dynamic, 500)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 200; k++) a[i] = a[i] * 0.5 + i % 7 + x;
}
static void need(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(3);
    }
}
static void create(const char *file) {
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
    _exit(fd >= 0 && write(fd, "x", 1) == 1 ? 7 : 8);
}
static long size_of(const char *file) {
    struct stat s;
    return stat(file, &s) ? 0 : (long)s.st_size;
}

static void folder(int step) {
    char now[4096];
    need(getcwd(now, sizeof now) != NULL, "getcwd");
    mode_t mask = umask(0);
    umask(mask);
    printf("%d: in %s %03o\n", step, strncmp(now, start, strlen(start)) ? now : now + strlen(start), (unsigned)mask);
    need(!chdir(step % 2 ? start : "/"), "chdir");
    umask(step % 2 ? 022 : 077);
}
static void timers(int step) {
    struct itimerval soon = {{0, 0}, {60, 0}}, none = {{0, 0}, {0, 0}};
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec then = {{0, 0}, {60, 0}};
    timer_t t;
    need(!setitimer(ITIMER_REAL, &soon, NULL), "setitimer");
    need(!timer_create(CLOCK_MONOTONIC, &e, &t) && !timer_settime(t, 0, &then, NULL), "timer");
    work(step);
    need(!timer_delete(t) && !setitimer(ITIMER_REAL, &none, NULL), "no timers");
}
/* Nothing is left over that would strike later. */
static void no_timers(void) {
    struct itimerval left;
    need(!getitimer(ITIMER_REAL, &left), "getitimer");
    need(!left.it_value.tv_sec && !left.it_value.tv_usec, "no timer of setitimer left");
    FILE *list = fopen("/proc/self/timers", "r");
    need(!list || fgetc(list) == EOF, "no timer of timer_create left");
    if (list) fclose(list);
}
static void children(int step, const char *file) {
    int status = 0;
    unlink(file); /* what another of the kind has left behind */
    pid_t child = fork();
    if (!child) {
        pid_t its = fork();
        usleep(step % 2 ? 20000 : 0);
        if (!its) create(file);
        waitpid(its, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    work(step);
    pid_t ended = wait(&status);
    printf("%d: %d %d, %ld\n", step, ended == child, WEXITSTATUS(status), size_of(file));
    need(wait(&status) < 0, "one child only");
}
static void output(int step, const char *file) {
    fflush(stdout);
    int old = dup(1), other = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    need(old >= 0 && dup2(other, 1) == 1, "dup2");
    close(other);
    work(step);
    printf("elsewhere\n");
    fflush(stdout);
    need(dup2(old, 1) == 1, "dup2");
    close(old);
    printf("%d: %ld in the file\n", step, size_of(file));
}

/* One is open in two steps of three, empty between them; the other is a queue. */
static void pipes(int step) {
    static int fds[3], queue[2];
    char text[9] = "", old[5] = "";
    if (step == 0) need(!pipe(queue), "queue");
    sprintf(old, "%03d;", step);
    need(write(queue[1], old, 4) == 4, "write");
    if (step > 1) need(read(queue[0], old, 4) == 4, "read");
    printf("%d: %s\n", step, old);
    if (step % 3 == 0) {
        need(!pipe(fds) && (fds[2] = dup(fds[1])) >= 0, "pipe");
        need(!fcntl(fds[0], F_SETFL, O_NONBLOCK), "fcntl");
    }
    need(read(fds[0], text, 1) < 0 && write(fds[2], "abc", 3) == 3 && read(fds[0], text, 8) == 3, "empty");
    printf("%d: %s\n", step, text);
    if (step % 3 == 1)
        for (int i = 0; i < 3; i++) close(fds[i]);
    if (step % 3 == 1) need(!pipe(fds) && !close(fds[0]) && !close(fds[1]), "another");
    if (step % 3 == 1) need(!pipe(fds) && (fds[2] = dup(fds[1])) >= 0 && !fcntl(fds[0], F_SETFL, O_NONBLOCK), "pipe");
    work(step);
    if (step % 3 == 2)
        for (int i = 0; i < 3; i++) close(fds[i]);
}

/* What the kernel tells of this process, in files that stay open. */
static void itself(int step) {
    static int status, folder;
    char text[64] = "", name[64] = "";
    if (step == 0) {
        need((status = open("/proc/self/stat", O_RDONLY)) >= 0, "status");
        need((folder = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY)) >= 0, "folder");
    }
    work(step);
    sprintf(name, "%d", status);
    need(pread(status, text, sizeof text - 1, 0) > 0, "of itself");
    printf("%d: %d %d\n", step, atoi(text) == getpid(), faccessat(folder, name, R_OK, 0));
}

/* What others see of this process: a word for each argument, and how often a variable is there. */
static void command(int step, int argc, char **argv) {
    static char text[1 << 20];
    for (int f = 0; f < 2; f++) {
        int fd = open(f ? "/proc/self/environ" : "/proc/self/cmdline", O_RDONLY);
        ssize_t n = 0, more;
        while ((more = read(fd, text + n, sizeof text - n)) > 0) n += more;
        need(!close(fd) && n > 0, "of itself");
        int same = 0, i = 0, paths = 0;
        for (char *word = text; word < text + n; word += strlen(word) + 1, i++) {
            same += i < argc && !strcmp(word, argv[i]);
            paths += !strncmp(word, "PATH=", 5) && !strcmp(word + 5, getenv("PATH"));
        }
        if (f) printf("%d: %d\n", step, paths);
        else printf("%d: %d arguments, %d of them the same\n", step, i, same);
    }
    work(step);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "";
    int steps = argc > 3 ? atoi(argv[3]) : 4;
    need(getcwd(start, sizeof start) != NULL, "getcwd");
    for (int i = 0; i < steps; i++) {
        work(i);
        if (!strcmp(mode, "folder")) folder(i);
        if (!strcmp(mode, "timers")) timers(i);
        if (!strcmp(mode, "children")) children(i, file);
        if (!strcmp(mode, "output")) output(i, file);
        if (!strcmp(mode, "pipes")) pipes(i);
        if (!strcmp(mode, "itself")) itself(i);
        if (!strcmp(mode, "command")) command(i, argc, argv);
        if (!strcmp(mode, "number")) printf("%d\n", getpid());
        work(i + 1);
    }
    usleep(50000);
    if (!strcmp(mode, "timers")) no_timers();
    double all = size_of(file);
    for (int i = 0; i < N; i++) all += a[i];
    printf("%.3f\n", all);
    return 0;
}
