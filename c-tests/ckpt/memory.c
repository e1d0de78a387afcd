/* What programs do with memory, at random (argument: seed): blocks from malloc, mmap, and parts of them given back, moved,
   protected, forgotten; written to here and there in parallel by work that cannot be repeated. Prints a sum over all content
   from time to time and at the end. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { BLOCKS = 40, PAGE = 4096, LONGS = PAGE / 8 };
static struct { uint64_t *at; size_t pages; enum { NONE, HEAP, MAPPED } kind; } b[BLOCKS];
static uint64_t state;
static uint64_t below(uint64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % n;
}
static void need(int ok, const char *what) {
    if (!ok) printf("%s failed\n", what), exit(1);
}
static uint64_t sum(void) {
    uint64_t s = 0;
    for (int i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < b[i].pages * LONGS; k += 7) s = s * 31 + b[i].at[k];
    return s;
}
static void give_back(int i) {
    if (b[i].kind == HEAP) free(b[i].at);
    if (b[i].kind == MAPPED) need(munmap(b[i].at, b[i].pages * PAGE) == 0, "munmap");
    b[i].kind = NONE, b[i].pages = 0, b[i].at = NULL;
}
int main(int argc, char **argv) {
    state = 88172645463325252u + (argc > 1 ? strtoull(argv[1], NULL, 10) : 0) * 0x9e3779b97f4a7c15u;
    int steps = argc > 2 ? atoi(argv[2]) : 4000;
    for (int step = 0; step < steps; step++) {
        int i = below(BLOCKS);
        size_t pages = 1 + below(step % 10 ? 40 : 2500);
        switch (below(10)) {
        case 0: case 1: /* a new block, with what malloc leaves there cleared */
            give_back(i);
            b[i].kind = HEAP, b[i].pages = pages;
            need((b[i].at = calloc(pages, PAGE)) != NULL, "calloc");
            break;
        case 2:
            give_back(i);
            b[i].kind = MAPPED, b[i].pages = pages;
            b[i].at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            need(b[i].at != MAP_FAILED, "mmap");
            break;
        case 3: /* moves, grows, shrinks */
            if (b[i].kind == HEAP) {
                size_t old = b[i].pages;
                need((b[i].at = realloc(b[i].at, pages * PAGE)) != NULL, "realloc");
                if (pages > old) memset(b[i].at + old * LONGS, 0, (pages - old) * PAGE);
                b[i].pages = pages;
            } else if (b[i].kind == MAPPED) {
                b[i].at = mremap(b[i].at, b[i].pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
                need(b[i].at != MAP_FAILED, "mremap");
                b[i].pages = pages;
            }
            break;
        case 4: /* to another address, over what is there */
            if (b[i].kind == MAPPED) {
                void *to = mmap(NULL, b[i].pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                need(to != MAP_FAILED, "mmap");
                b[i].at = mremap(b[i].at, b[i].pages * PAGE, b[i].pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
                need(b[i].at == to, "mremap");
            }
            break;
        case 5:
            if (b[i].kind == MAPPED) {
                size_t from = below(b[i].pages), n = 1 + below(b[i].pages - from);
                need(madvise(b[i].at + from * LONGS, n * PAGE, MADV_DONTNEED) == 0, "madvise");
            }
            break;
        case 6: /* pages that can be read only while others write elsewhere */
            if (b[i].kind == MAPPED) need(mprotect(b[i].at, b[i].pages * PAGE, PROT_READ) == 0, "mprotect");
            break;
        case 7: give_back(i); break;
        default: break;
        }
        int stride = 1 + below(5), w = below(BLOCKS);
        if (b[w].kind == MAPPED) need(mprotect(b[w].at, b[w].pages * PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
#pragma omp parallel for schedule(dynamic, 16)
        for (size_t p = 0; p < b[w].pages; p++)
            if (p % stride == 0)
                for (int k = 0; k < LONGS; k += 13) b[w].at[p * LONGS + k] = b[w].at[p * LONGS + k] * 3 + p + step;
        if (step % 1000 == 999) printf("%d: %016llx\n", step, (unsigned long long)sum());
    }
    printf("end: %016llx\n", (unsigned long long)sum());
    return 0;
}
