/* Threads that are cancelled, or jump away, while they wait in a call: cancel MODE. Standard input is a pipe that stays empty; in mode "full" nobody reads
   standard output. What cancelled threads hold in libc is given back. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 30 };
static const char *mode;
static int fds[2], cleaned;
static char large[1 << 20];
static sigjmp_buf back;

static int is(const char *name) { return !strcmp(mode, name); }
static void clean(void *arg) { ++*(int *)arg; }
static void jump(int sig) { siglongjmp(back, 1); }

static void *waits(void *arg)
{
    char text[10];
    pthread_cleanup_push(clean, &cleaned);
    if (is("own") && read(fds[0], text, sizeof text) >= 0) exit(1);
    if (is("read") && read(0, text, sizeof text) >= 0) exit(1);
    if (is("gets") && fgets(text, sizeof text, stdin)) exit(1);
    while (is("full")) if (write(1, large, sizeof large) < 0) exit(1);
    if (is("puts")) { while (fwrite(large, 1, sizeof large, stdout)); exit(1); }
    if (is("sleep")) { sleep(100); exit(1); }
    if (is("usleep")) { usleep(100000000); exit(1); }
    if (is("poll")) { poll(&(struct pollfd){ fds[0], POLLIN, 0 }, 1, -1); exit(1); }
    if (is("timed")) { poll(&(struct pollfd){ fds[0], POLLIN, 0 }, 1, 100000); exit(1); }
    if (is("select")) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fds[0], &set);
        select(fds[0] + 1, &set, NULL, NULL, &(struct timeval){ 100, 0 });
        exit(1);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

/* Waits of 60 ms: the longest and the shortest, in ms. */
static int times(void)
{
    double longest = 0, shortest = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec from, to, sixty = { 0, 60000000 };
        struct timeval tv = { 0, 60000 };
        struct pollfd p = { fds[0], POLLIN, 0 };
        int r;
        clock_gettime(CLOCK_MONOTONIC, &from);
        switch (i % 5) {
        case 0: r = poll(&p, 1, 60); break;
        case 1: r = select(0, NULL, NULL, NULL, &tv); break;
        case 2: r = clock_nanosleep(CLOCK_MONOTONIC, 0, &sixty, &sixty); break;
        case 3: r = usleep(60000); break;
        default: r = ppoll(&p, 1, &sixty, NULL);
        }
        if (r) return 1;
        clock_gettime(CLOCK_MONOTONIC, &to);
        double took = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
        if (took < shortest) shortest = took;
        if (took > longest) longest = took;
    }
    fprintf(stderr, "times: %.1f %.1f, 0 locked, enabled\n", shortest, longest);
    _exit(0);
}

static void *sends(void *to)
{
    usleep(3000);
    pthread_kill(*(pthread_t *)to, SIGUSR1);
    return NULL;
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "own";
    int threads = 0, cancelled = 0, jumps = 0, locked = 0, state;
    pthread_t main_thread = pthread_self();
    if (pipe(fds)) return 1;
    if (is("jump")) signal(SIGUSR1, jump);
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    if (is("times")) return times();
    for (volatile int i = 0; i < ROUNDS; i++) {
        pthread_t t;
        void *end;
        char text[10];
        if (is("jump")) {
            if (sigsetjmp(back, 1) == 0) {
                pthread_create(&t, NULL, sends, &main_thread);
                if (read(0, text, sizeof text) >= 0) return 1;
            }
            jumps++;
            pthread_join(t, NULL);
            continue;
        }
        pthread_create(&t, NULL, waits, NULL);
        usleep(2000 + 700 * (i % 7));
        pthread_cancel(t);
        pthread_join(t, &end);
        cancelled += end == PTHREAD_CANCELED;
        locked += ftrylockfile(stdin) != 0;
        funlockfile(stdin);
        if (!is("puts")) continue;
        locked += ftrylockfile(stdout) != 0;
        funlockfile(stdout);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    fprintf(stderr, "%s: %d threads, %d cancelled, %d cleaned, %d jumps, %d locked, %s\n", mode, threads, cancelled, cleaned, jumps, locked,
            state == PTHREAD_CANCEL_ENABLE ? "enabled" : "disabled");
    _exit(0);
}
