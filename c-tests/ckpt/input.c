/* A program that reads some of its input in every step, in one of the ways that input comes, and works in regions that must not be repeated.
     input MODE
   MODE: lines (fgets), numbers (fscanf), bytes (getchar, without a buffer), read, large (20000 bytes at once), parts (readv), polls (poll before read),
   number (syscall), call (the system call itself). It prints a sum of what it has read for every step. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { N = 2000 };
static char text[20000];

static long work(long step) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
        double x = i + step % 1000;
        for (int k = 0; k < 300; k++) x = x * 0.999 + 1;
        sum += (long)x;
    }
    return sum;
}

/* A system call that no library knows of. */
static long direct(long number, long a, const void *b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}

/* A sum that depends on the order. */
static unsigned long add(unsigned long sum, const char *from, long n) {
    while (n-- > 0) sum = sum * 31 + (unsigned char)*from++;
    return sum;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "lines";
    unsigned long sum = 0, all = 0;
#define IS(name) (!strcmp(mode, name))
    if (IS("bytes")) setvbuf(stdin, NULL, _IONBF, 0);
    for (;;) {
        long n = 0;
        if (IS("lines")) {
            for (int k = 0; k < 20 && fgets(text, sizeof text, stdin); k++) n = 1, sum = add(sum, text, (long)strlen(text));
        } else if (IS("numbers")) {
            long x;
            for (int k = 0; k < 20 && scanf("%ld", &x) == 1; k++) n = 1, sum = sum * 31 + (unsigned long)x;
        } else if (IS("bytes")) {
            int c;
            for (int k = 0; k < 100 && (c = getchar()) != EOF; k++) n = 1, sum = sum * 31 + (unsigned long)c;
        } else {
            size_t most = IS("large") ? sizeof text : 100;
            struct iovec parts[2] = {{text, 50}, {text + 50, 50}};
            struct pollfd p = {0, POLLIN, 0};
            if (IS("polls")) poll(&p, 1, -1);
            n = IS("parts") ? readv(0, parts, 2) : IS("number") ? syscall(SYS_read, 0, text, most) : IS("call") ? direct(SYS_read, 0, text, (long)most) : read(0, text, most);
            if (n > 0) sum = add(sum, text, n);
        }
        if (n <= 0) break;
        all += (unsigned long)work((long)(all & 1023));
    }
    printf("%lu %lu\n", sum, (IS("lines") || IS("numbers") || IS("bytes")) ? all : 0);
    return 0;
}
