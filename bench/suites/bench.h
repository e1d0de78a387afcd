/* What the suites share: a row is a function that does something n times; its time is the median of several blocks that are each long
   enough to be measured. Prints "row<TAB>nanoseconds". */
#include "../median.h"
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 7, BLOCK_NS = 3000000 };

static inline double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Something that the compiler cannot leave out and that takes no time. */
#define NOTHING() __asm__ volatile("")

/* `n` multiplications that depend on each other, in registers: work on the stack would depend on where the stack happens to be. */
static inline void work(int n) {
    unsigned long a = 1;
    for (int i = 0; i < n; i++) {
        a *= 3;
        __asm__ volatile("" : "+r"(a));
    }
}

static const char *only; /* first argument of the program: rows with this in their name */

/* Times body(n), which does `per * n` things. */
__attribute__((unused)) static void row(const char *name, double per, void (*body)(long n)) {
    if (only && !strstr(name, only)) return;
    long n = 1;
    double t;
    body(1);
    for (;;) {
        t = now_ns();
        body(n);
        t = now_ns() - t;
        if (t >= BLOCK_NS / 2) break;
        n = t < BLOCK_NS / 20 ? n * 8 : (long)((double)n * BLOCK_NS / t) + 1;
    }
    double times[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) {
        t = now_ns();
        body(n);
        times[b] = (now_ns() - t) / ((double)n * per);
    }
    printf("%s\t%.2f\n", name, sorted(times, BLOCKS)[BLOCKS / 2]);
    fflush(stdout);
}
