/* Threads that are cancelled, or jump away, while they wait in a call: cancel MODE. Standard input is a pipe that stays empty; in mode "full" nobody reads
   standard output. What cancelled threads hold in libc is given back. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    while (is("sleep")) sleep(100);
    pthread_cleanup_pop(0);
    return NULL;
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
    signal(SIGUSR1, jump);
#pragma omp parallel reduction(+ : threads)
    threads += 1;
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
