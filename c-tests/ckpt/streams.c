/* A program between others: it reads from pipes, a terminal or a socket, before or after the checkpoint that its first region begins with, and sends.
   After each step it works in a way that must not be repeated. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 100000 };
static double a[N];

static void work(long x) {
#pragma omp parallel for schedule(dynamic, 500)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 500; k++) a[i] = a[i] * 0.5 + i % 7 + x;
}

/* A system call that no library knows of. */
static long direct(long number, long a, const void *b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}

/* How many numbers follow, and the numbers. */
static long read_from(FILE *f) {
    long n = 0, x, sum = 0;
    if (fscanf(f, "%ld", &n) != 1) return -1;
    while (n-- > 0 && fscanf(f, "%ld", &x) == 1) sum += x;
    return sum;
}

/* The first checkpoint, if there is to be one, is on the disk. */
static void wait_for_it(void) {
    const char *dir = getenv("PROMP_CKPT_DIR");
    char name[4096];
    snprintf(name, sizeof name, "%s/gen-1", dir ? dir : "");
    for (int i = 0; dir && i < 20000 && access(name, F_OK); i++) usleep(1000);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "never";
    int is = 0, own[2];
    long sum = 0;
    FILE *f = stdin;
#define MODE(name) (is = !strcmp(mode, name))
    if (MODE("before") || MODE("twice")) sum += read_from(stdin);
    if (MODE("opened")) f = fopen(argv[2], "r");
    if (MODE("own") && pipe(own)) return 2;
    work(1);
    if (strcmp(mode, "quick")) wait_for_it(); /* quick: there will be none */
    if (MODE("after") || MODE("twice") || MODE("opened")) sum += read_from(f);
    if (MODE("direct")) {
        char text[64] = "";
        if (direct(SYS_read, 0, text, sizeof text - 1) < 0) return 2;
        sum += atol(text);
    }
    if (MODE("polls")) {
        struct pollfd p = {0, POLLIN, 0};
        if (poll(&p, 1, -1) != 1) return 2;
        sum += read_from(stdin);
    }
    if (MODE("opens")) {
        f = fopen(argv[2], "r");
        sum += read_from(f);
    }
    if (MODE("own") && write(own[1], "x", 1) != 1) return 2;
    if (MODE("says")) {
        puts("a line");
        fflush(stdout);
    }
    if (MODE("calls") && direct(SYS_write, 1, "a line\n", 7) != 7) return 2;
    work(sum);
    if (MODE("own")) {
        int n;
        if (ioctl(own[0], FIONREAD, &n)) return 2;
        sum += n;
    }
    work(sum + 1);
    (void)is;
    double all = 0;
    for (int i = 0; i < N; i++) all += a[i];
    printf("%ld %.3f\n", sum, all);
    return 0;
}
