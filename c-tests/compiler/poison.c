/* Stands for the runtime in tests of what promp-cc says is dead: at every place, what the nests of loops of a
   list write is filled with ones at once, element by element, whether there are gaps between them or not. A
   wrong proof becomes a wrong sum. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, WORDS = 128 };

static __thread size_t lists[MOST][WORDS];
static __thread int count;
static size_t poisoned;

static void end(void) { fprintf(stderr, "poisoned %zu\n", poisoned); }
static __attribute__((constructor)) void begin(void) { atexit(end); }

void promp_dead_written(const size_t *list) {
    if (count == MOST || list[0] > WORDS) return;
    memcpy(lists[count++], list, list[0] * sizeof *list);
}

/* Bytes of a nest's elements that lie between two addresses; `poison`: they are filled. */
static size_t elements(const size_t *nest, size_t from, size_t to, int poison) {
    size_t levels = nest[2], bytes = 0, all = 1;
    for (size_t l = 0; l < levels; l++) {
        if (nest[4 + 2 * l] == 0 || nest[4 + 2 * l] > 1 << 20) return 0;
        all *= nest[4 + 2 * l];
    }
    if (all > 1 << 24) return 0;
    for (size_t k = 0; k < all; k++) {
        size_t a = nest[0], rest = k;
        for (size_t l = 0; l < levels; l++)
            a += nest[3 + 2 * l] * (rest % nest[4 + 2 * l]), rest /= nest[4 + 2 * l];
        if (a >= from && a + nest[1] <= to) {
            if (poison) memset((void *)a, 0xff, nest[1]);
            bytes += nest[1];
        }
    }
    return bytes;
}

void promp_potential_ckpt(void) {
    if (omp_in_parallel()) {
#pragma omp barrier
    }
    size_t done = 0;
    for (int i = 0; i < count; i++) {
        const size_t *list = lists[i], *nest = list + 2;
        if (list[1] == 1) {
            done += elements(nest, 0, (size_t)-1, 1);
            continue;
        }
        /* Several: what all of them write, as far as it has no gaps. */
        size_t from = 0, to = (size_t)-1;
        for (size_t n = 0; n < list[1]; n++, nest += 3 + 2 * nest[2]) {
            size_t bytes = elements(nest, 0, (size_t)-1, 0);
            if (bytes == 0) to = 0;
            if (nest[0] > from) from = nest[0];
            if (nest[0] + bytes < to) to = nest[0] + bytes;
            if (elements(nest, nest[0], nest[0] + bytes, 0) != bytes) to = 0;
        }
        if (from < to) memset((void *)from, 0xff, to - from), done += to - from;
    }
    count = 0;
#pragma omp atomic
    poisoned += done;
    if (omp_in_parallel()) {
#pragma omp barrier
    }
}
