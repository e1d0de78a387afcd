/* Stands for the runtime in tests of what promp-cc says is dead: at every place, what the nests of loops of a
   list write is filled with ones at once, element by element, whether there are gaps between them or not. A
   wrong proof becomes a wrong sum. So it is with what comes of going ahead, if the runtime is there. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, WORDS = 128 };

static __thread size_t lists[MOST][WORDS];
static __thread int count;
static size_t poisoned;

static size_t ahead;
static void end(void) { fprintf(stderr, "poisoned %zu\nahead %zu\n", poisoned, ahead); }
static __attribute__((constructor)) void begin(void) { atexit(end); }

void promp_dead_written(const size_t *list) {
    if (count == MOST || list[0] > WORDS || list[1] == 0) return;
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

/* What comes of going ahead: of a program, and the numbers of each thread. It takes the runtime to say it. */
enum { SLOTS = 128, THREADS = 16, RANGES = 256 };
size_t promp_look_ahead(const uint64_t *program, const uint64_t *slots, const unsigned char *known,
                        size_t *out, size_t most) __attribute__((weak));
static uint64_t slots[THREADS][SLOTS];
static const uint64_t *programs[THREADS];

void promp_dead_foreseen(const uint64_t *program, const uint64_t *of) {
    int t = omp_get_thread_num();
    programs[t] = program;
    memcpy(slots[t], of, program[2] * sizeof *of);
}

static size_t look_ahead(void) {
    size_t out[2 * RANGES], bytes = 0;
    unsigned char known[SLOTS];
    const uint64_t *program = programs[0];
    int threads = omp_get_num_threads();
    for (int t = 0; t < threads; t++)
        if (programs[t] != program) program = NULL;
    if (!program || !promp_look_ahead) return 0;
    for (size_t k = 0; k < program[2]; k++) {
        known[k] = 1;
        for (int t = 1; t < threads; t++) known[k] &= slots[t][k] == slots[0][k];
    }
    size_t n = promp_look_ahead(program, slots[0], known, out, RANGES);
    for (size_t k = 0; k < n; k++) {
        memset((void *)out[2 * k], 0xff, out[2 * k + 1] - out[2 * k]);
        bytes += out[2 * k + 1] - out[2 * k];
    }
    return bytes;
}

void promp_potential_ckpt(void) {
    if (omp_in_parallel()) {
#pragma omp barrier
    }
    size_t done = 0;
    if (omp_get_thread_num() == 0) {
        ahead += look_ahead();
        memset(programs, 0, sizeof programs);
    }
    if (omp_in_parallel()) {
#pragma omp barrier
    }
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
