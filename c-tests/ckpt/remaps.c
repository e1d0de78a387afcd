/* In each step memory is moved by mremap, in one of its kinds, and what it holds is compared with what it
   should: DONTUNMAP (the old place reads as zeros), FIXED (over other memory), growing, shrinking, a part out
   of the middle. argv[1]: steps. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { PAGE = 4096, PAGES = 64, BYTES = PAGES * PAGE };
static void *anywhere(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(8);
    return at;
}
static void fill(unsigned char *at, int step) {
    for (int i = 0; i < BYTES; i++)
        at[i] = (unsigned char)(step * 7 + i / PAGE + i);
}
static void check(const unsigned char *at, int step, int from, int to, const char *what) {
    for (int i = from; i < to; i++)
        if (at[i] != (unsigned char)(step * 7 + i / PAGE + i)) {
            fprintf(stderr, "step %d: %s: byte %d is %d\n", step, what, i, at[i]);
            exit(9);
        }
}
static void zeros(const unsigned char *at, int step, const char *what) {
    for (int i = 0; i < BYTES; i++)
        if (at[i]) {
            fprintf(stderr, "step %d: %s: byte %d is %d, not 0\n", step, what, i, at[i]);
            exit(9);
        }
}
static unsigned long work(int step) {
    unsigned long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i ^ step;
    usleep(1500);
    return sum;
}
int main(int argc, char **argv) {
    unsigned char *at = anywhere(BYTES), *other = anywhere(BYTES);
    unsigned long sum = 0;
    for (int step = 0; step < atoi(argv[1]); step++) {
        fill(at, step);
        memset(other, 255, BYTES);
        sum += work(step);
        unsigned char *now = mremap(at, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
        if (now == MAP_FAILED)
            return 7;
        sum += work(step);
        check(now, step, 0, BYTES, "moved"), zeros(at, step, "left behind");
        if (mremap(now, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other)
            return 7;
        sum += work(step);
        check(other, step, 0, BYTES, "moved over memory");
        now = mremap(other, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
        sum += work(step);
        check(now, step, 0, BYTES, "grown"), zeros(now + BYTES, step, "the new part");
        now = mremap(now, 2 * BYTES, BYTES, 0);
        if (mremap(now + 8 * PAGE, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
            return 7;
        sum += work(step);
        check(at - 8 * PAGE, step, 8 * PAGE, 16 * PAGE, "a part");
        check(now, step, 16 * PAGE, BYTES, "the rest");
        munmap(now, BYTES), munmap(at, BYTES);
        at = anywhere(BYTES), other = anywhere(BYTES);
    }
    printf("%lu\n", sum);
    return 0;
}
