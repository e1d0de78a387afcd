/* raises SIGNAL HOW: the program ends by a crash signal that is sent, not by a fault: by itself (raise), by a
   reporter's handler that sends it again (handler), by another process (outside), by a thread of its own
   (thread), after a region or before any (region, raise). */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int number;

static void report(int s) {
    signal(s, SIG_DFL);
    raise(s);
}

static void *own(void *p) {
    raise(number);
    return p;
}

int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[2] : "";
    struct rlimit none = {0, 0};
    number = atoi(argv[1]);
    setrlimit(RLIMIT_CORE, &none);
    if (!strcmp(how, "region")) {
#pragma omp parallel num_threads(2)
        if (getpid() < 0) puts("never");
    }
    if (!strcmp(how, "thread")) {
        pthread_t t;
        pthread_create(&t, 0, own, 0);
        pthread_join(t, 0);
    } else if (!strcmp(how, "outside")) {
        pid_t child = fork();
        if (!child) {
            kill(getppid(), number);
            _exit(0);
        }
        for (int i = 0; i < 100; i++) usleep(20000);
    } else if (!strcmp(how, "handler")) {
        signal(number, report);
        raise(number);
    } else
        raise(number);
    puts("went on");
    return 5;
}
