/* touch MIB small|huge: how long memory takes to be touched for the first time, in pages of either size, and a copy into it afterwards. In a
 * virtual machine the first depends on whether the machine has used memory lately: wait ten seconds between two runs. No OpenMP. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc != 3) return 64;
    const size_t huge = 2 << 20, n = (size_t)atol(argv[1]) << 20, page = 4096;
    char *p = mmap(0, n + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 1;
    p += -(size_t)p % huge;
    madvise(p, n, strcmp(argv[2], "huge") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    double t = now();
    for (size_t i = 0; i < n; i += page) p[i] = 1;
    printf("%s: first touch %.3f s", argv[2], now() - t);
    char *from = malloc(huge);
    memset(from, 1, huge);
    t = now();
    for (size_t i = 0; i < n; i += page) memcpy(p + i, from + i % huge, page);
    printf(", copy %.1f GB/s\n", (double)n / (now() - t) / 1e9);
}
