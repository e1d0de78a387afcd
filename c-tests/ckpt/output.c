/* A program that says something in every step, in one of the ways that output goes out. Its steps work in regions that must not be repeated.
     output MODE STEPS [SIZE]
   MODE: line, none, full (libc's stream, with such a buffer), write, number (syscall), parts (writev), large (SIZE, 5000 bytes at once), both (to standard error, too), times (some
   lines are never the same), order (by several threads, in any order), taken (line; the numbers from 900 on
   are another file's from half of the steps on). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { N = 2000 };

static long work(int step) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
        double x = i + step;
        for (int k = 0; k < 300; k++) x = x * 0.999 + 1;
        sum += (long)x;
    }
    return sum;
}

static void all(const char *text, size_t n) {
    while (n > 0) {
        ssize_t done = write(1, text, n);
        if (done <= 0) exit(3);
        text += done, n -= (size_t)done;
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "full";
    int steps = argc > 2 ? atoi(argv[2]) : 200;
    static char text[100000];
    size_t size = argc > 3 ? (size_t)atoi(argv[3]) : 5000;
#define IS(name) (!strcmp(mode, name))
    FILE *other = IS("taken") ? tmpfile() : NULL;
    if (IS("line") || IS("both") || IS("times") || IS("taken")) setvbuf(stdout, NULL, _IOLBF, 0);
    if (IS("none")) setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < steps; i++) {
        long sum = work(i);
        if (IS("taken") && i == steps / 2)
            for (int fd = 900; fd < 904; fd++)
                if (dup2(fileno(other), fd) != fd) return 3;
        int n = snprintf(text, sizeof text, "step %d: %ld\n", i, sum);
        if (IS("write")) {
            all(text, (size_t)n);
        } else if (IS("number")) {
            if (syscall(SYS_write, 1, text, n) != n) return 3;
        } else if (IS("parts")) {
            struct iovec parts[3] = {{text, 5}, {text + 5, 0}, {text + 5, (size_t)n - 5}};
            if (writev(1, parts, 3) != n) return 3;
        } else if (IS("large")) {
            memset(text + n, '.', size - (size_t)n);
            text[size - 1] = '\n';
            all(text, size);
        } else if (IS("order")) {
#pragma omp parallel for schedule(dynamic, 1)
            for (int k = 0; k < 4; k++) {
                char line[40];
                all(line, (size_t)snprintf(line, sizeof line, "%d of step %d\n", k, i));
            }
        } else {
            printf("step %d: %ld\n", i, sum);
            if (IS("both")) fprintf(stderr, "after step %d\n", i);
            if (IS("times") && i % 10 == 0) printf("clock %ld\n", (long)time(NULL) * 1000000 + clock());
        }
    }
    puts("the end");
    return other && lseek(fileno(other), 0, SEEK_END) != 0 ? 4 : 0;
}
