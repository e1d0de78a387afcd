/* Memory that changes as a whole for a while, then here and there or in part, then not at all, or is given back (argument: seed), by work that cannot be
   repeated. For the first half of some phases no checkpoint is possible: there are sockets. Prints a sum over all of it from time to time and at the end. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
enum { BLOCK = 2 << 20, BLOCKS = 8, LONGS = BLOCK / 8, PAGE = 4096, PHASES = 24 };
static uint64_t state;
static uint64_t below(uint64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % n;
}
int main(int argc, char **argv) {
    state = 88172645463325252u + (argc > 1 ? strtoull(argv[1], NULL, 10) : 0) * 0x9e3779b97f4a7c15u;
    uint64_t *m = mmap(NULL, BLOCKS * BLOCK + BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return 1;
    /* As NumPy does with large arrays. */
    if (below(2)) madvise(m, BLOCKS * BLOCK + BLOCK, MADV_HUGEPAGE);
    for (int phase = 0; phase < PHASES; phase++) {
        /* What each block does in this phase: 0 all of it changes, 1 every fifth page, 2 nothing, 3 it is given back first, then as 0,
           4 its first, 5 its last `part` pages. */
        int does[BLOCKS + 1], part[BLOCKS + 1], steps = 4 + below(12);
        for (int b = 0; b <= BLOCKS; b++) {
            uint64_t r = below(10);
            does[b] = phase == 0 || r < 4 ? 0 : r < 5 ? 1 : r < 7 ? 2 : r < 8 ? 3 : r < 9 ? 4 : 5;
            part[b] = below(BLOCK / PAGE);
            if (does[b] == 3) madvise((char *)m + b * BLOCK, BLOCK, MADV_DONTNEED);
        }
        int pair[2], sockets = phase > 0 && below(4) == 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        for (int step = 0; step < steps; step++) {
            if (sockets && step == steps / 2) close(pair[0]), close(pair[1]);
#pragma omp parallel for schedule(dynamic)
            for (int p = 0; p < (BLOCKS + 1) * (BLOCK / PAGE); p++) {
                int b = p / (BLOCK / PAGE), i = p % (BLOCK / PAGE), what = does[b];
                if (what == 2 || (what == 1 && p % 5) || (what == 4 && i >= part[b]) || (what == 5 && i < BLOCK / PAGE - part[b])) continue;
                for (int k = 0; k < PAGE / 8; k += 3) m[p * (PAGE / 8) + k] = m[p * (PAGE / 8) + k] * 3 + p + step + 1;
            }
        }
        if (phase % 6 == 5) {
            uint64_t sum = 0;
            for (long k = 0; k < (BLOCKS + 1L) * LONGS; k += 11) sum = sum * 31 + m[k];
            printf("%d: %016llx\n", phase, (unsigned long long)sum);
        }
    }
    return 0;
}
