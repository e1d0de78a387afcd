/* Memory that changes as a whole for a while, then a page here and there, then a few rows, then not at all, and so on. argv[1]: seed; argv[2]: MiB. The
   result does not depend on time. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { REGIMES = 6, WORDS = 512 /* of a page */, ROW = 256 /* pages */ };

static uint64_t random_state;
static uint64_t draw(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

int main(int argc, char **argv) {
    random_state = argc > 1 ? strtoul(argv[1], 0, 10) : 1;
    size_t pages = (argc > 2 ? strtoul(argv[2], 0, 10) : 96) << 8;
    uint64_t(*m)[WORDS] = aligned_alloc(4096, pages * 4096);
#pragma omp parallel for
    for (size_t p = 0; p < pages; p++)
        for (size_t w = 0; w < WORDS; w++) m[p][w] = p * w;
    uint64_t sum = 0;
    for (int regime = 0; regime < REGIMES; regime++) {
        int kind = regime % 3 < 2 ? regime % 3 : 2 + draw(2), passes = 40 + draw(40);
        size_t step = kind ? 30 + draw(100) : 1, first = draw(step);
        for (int pass = 0; pass < passes; pass++) {
            uint64_t with = draw(1 << 20);
            if (kind == 3) { /* read only */
#pragma omp parallel for reduction(+ : sum)
                for (size_t p = 0; p < pages; p++) sum += m[p][with % WORDS];
            } else if (kind == 2) {
#pragma omp parallel for
                for (size_t row = first; row < pages / ROW; row += step)
                    for (size_t p = row * ROW; p < (row + 1) * ROW; p++) m[p][with % WORDS] += with ^ p;
            } else {
#pragma omp parallel for
                for (size_t p = first; p < pages; p += step) m[p][with % WORDS] += with ^ p;
            }
            /* time to be looked at */
#pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 8000000; i++) sum += (i ^ with) % 7;
        }
    }
    for (size_t p = 0; p < pages; p++)
        for (size_t w = 0; w < WORDS; w++) sum = sum * 31 + m[p][w];
    printf("%016lx\n", sum);
    return 0;
}
