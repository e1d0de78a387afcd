/* Much thread-local data, in front of libc's own: errno lies far below the thread pointer. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef WORDS
#define WORDS 32768
#endif
enum { STEPS = 400 };
static _Thread_local uint64_t mine[WORDS] = { 1 };

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : STEPS;
    static uint64_t sum[64];
    for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int t = 0; t < 64; t++) {
            for (int i = 0; i < WORDS; i++) mine[i] = mine[i] * 0x9e3779b97f4a7c15u + t + i;
            if (close(-1) != -1 || errno != EBADF) abort();
            uint64_t x = t + s;
            for (int i = 0; i < 2000; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            sum[t] += x;
        }
    }
    uint64_t all = 0;
    for (int t = 0; t < 64; t++) all = all * 31 + sum[t];
    printf("%lx\n", (unsigned long)all);
}
