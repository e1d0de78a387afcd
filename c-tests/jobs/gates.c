/* A step of a script that writes lines when it may. argv: a name; how many lines; bytes that each has more,
   or "t": the time, so that no line comes again. In front of line N, and behind the last one, it waits while
   there is a file NAME.N; its thread is called "at-N" there. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void gate(const char *name, int n) {
    const struct timespec pause = {0, 1000000};
    char file[64], place[16];
    snprintf(file, sizeof file, "%s.%d", name, n);
    snprintf(place, sizeof place, "at-%d", n);
    prctl(PR_SET_NAME, place);
    while (access(file, F_OK) == 0)
        nanosleep(&pause, NULL);
}

int main(int argc, char **argv) {
    int lines = atoi(argv[2]), more = argc > 3 ? atoi(argv[3]) : 0;
    static char line[1 << 16];
    setvbuf(stdout, line, _IOFBF, sizeof line);
    for (int i = 0; i < lines; i++) {
        unsigned long s = 0;
#pragma omp parallel for reduction(+ : s)
        for (int k = 0; k < 1000; k++)
            s += k * (i + 1);
        gate(argv[1], i);
        printf("%s %d %lu", argv[1], i, s);
        if (argc > 3 && *argv[3] == 't') {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            printf(" %ld.%09ld", t.tv_sec, t.tv_nsec);
        }
        for (int k = 0; k < more; k++)
            putchar('a' + (i + k) % 26);
        putchar('\n');
        fflush(stdout);
    }
    gate(argv[1], lines);
    return 0;
}
