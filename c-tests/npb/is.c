/* NPB IS: ranks of integer keys by counting, ten times, and a full sort at the end. */
#include "npb.h"

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    static const struct { char class; int keys, max; } classes[] = {{'S', 16, 11}, {'W', 20, 16}, {'A', 23, 19}, {'B', 25, 21}};
    size_t cl = 0;
    while (cl < 4 && classes[cl].class != class) cl++;
    if (cl == 4) return 2;
    enum { BLOCKS = 16, ITERATIONS = 10 };
    long n = 1L << classes[cl].keys;
    int max = 1 << classes[cl].max;
    int *key = malloc(sizeof(int) * n), *sorted = malloc(sizeof(int) * n);
    int *count = malloc(sizeof(int) * (size_t)BLOCKS * max), *base = malloc(sizeof(int) * (size_t)BLOCKS * max);
    PARALLEL_LOOP()
    for (int b = 0; b < BLOCKS; b++) {
        uint64_t x = npb_mul(314159265, npb_pow(NPB_A, 4 * (uint64_t)(n / BLOCKS) * b));
        for (long i = n / BLOCKS * b; i < n / BLOCKS * (b + 1); i++) {
            double s = npb_rand(&x);
            s += npb_rand(&x), s += npb_rand(&x), s += npb_rand(&x);
            key[i] = (int)(max / 4 * s);
        }
    }
    unsigned long hash = 0;
    for (int it = 1; it <= ITERATIONS; it++) {
        key[it] = it, key[it + ITERATIONS] = max - it;
        PARALLEL_LOOP()
        for (int b = 0; b < BLOCKS; b++) {
            int *mine = count + (size_t)b * max;
            memset(mine, 0, sizeof(int) * max);
            for (long i = n / BLOCKS * b; i < n / BLOCKS * (b + 1); i++) mine[key[i]]++;
        }
        int rank = 0;
        for (int k = 0; k < max; k++)
            for (int b = 0; b < BLOCKS; b++) base[(size_t)b * max + k] = rank, rank += count[(size_t)b * max + k];
        for (int t = 0; t < 5; t++) hash = hash * 31 + base[key[n / 5 * t]];
    }
    PARALLEL_LOOP()
    for (int b = 0; b < BLOCKS; b++) {
        /* Each block places its keys where its counts say; a copy of the start ranks lets it be done again. */
        int *next = malloc(sizeof(int) * max);
        memcpy(next, base + (size_t)b * max, sizeof(int) * max);
        for (long i = n / BLOCKS * b; i < n / BLOCKS * (b + 1); i++) sorted[next[key[i]]++] = key[i];
        free(next);
    }
    int ok = 1;
    for (long i = 1; i < n; i++) ok &= sorted[i - 1] <= sorted[i];
    printf("ranks %lu\n", hash);
    return npb_verdict("IS", class, ok);
}
