/* pages: how long two threads take to read pages of 1 GiB and copy them away, as a checkpoint does: with ordinary stores or past the caches, with the
 * first lines of the next page fetched or not; all pages, and one of 25. The best of 7 times. No OpenMP. */
#define _GNU_SOURCE
#include <emmintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 1 << 18, FETCH = 16 };

static char *memory, *copy;
static int chosen[PAGES], count, past, fetch;
static uint64_t sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *half(void *second) {
    int from = second ? count / 2 : 0, to = second ? count : count / 2;
    uint64_t sums[8] = {0};
    for (int i = from; i < to; i++) {
        const char *p = memory + (size_t)chosen[i] * PAGE;
        if (fetch && i + 1 < to)
            for (int l = 0; l < FETCH; l++) _mm_prefetch(memory + (size_t)chosen[i + 1] * PAGE + l * 64, _MM_HINT_T0);
        __m128i *q = (__m128i *)(copy + (size_t)i * PAGE);
        const uint64_t *w = (const uint64_t *)p;
        /* A checksum, of several parts as good ones are. */
        for (int k = 0; k < PAGE / 8; k += 8)
            for (int part = 0; part < 8; part++) sums[part] = (sums[part] ^ w[k + part]) * 0x9e3779b185ebca87u;
        if (past)
            for (int k = 0; k < PAGE / 16; k++) _mm_stream_si128(q + k, _mm_load_si128((const __m128i *)p + k));
        else
            memcpy(q, p, PAGE);
    }
    _mm_sfence();
    for (int part = 0; part < 8; part++) __atomic_fetch_add(&sink, sums[part], __ATOMIC_RELAXED);
    return NULL;
}

int main(void) {
    size_t n = (size_t)PAGE * PAGES;
    memory = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || copy == MAP_FAILED) return 1;
    madvise(memory, n, MADV_NOHUGEPAGE), madvise(copy, n, MADV_NOHUGEPAGE);
    memset(memory, 1, n), memset(copy, 2, n);
    for (int one_of = 1; one_of <= 25; one_of += 24) {
        srand(1);
        count = 0;
        for (int i = 0; i < PAGES; i++)
            if (rand() % one_of == 0) chosen[count++] = i;
        double best[4] = {1e9, 1e9, 1e9, 1e9};
        for (int round = 0; round < 7; round++)
            for (int way = 0; way < 4; way++) {
                pthread_t t;
                past = way & 1, fetch = way >> 1;
                double began = now();
                if (pthread_create(&t, NULL, half, "")) return 1;
                half(NULL);
                pthread_join(t, NULL);
                double took = now() - began;
                if (took < best[way]) best[way] = took;
            }
        for (int way = 0; way < 4; way++)
            printf("one of %2d, %s%s: %6.1f ms, %.2f us a page and thread\n", one_of, way & 1 ? "past the caches" : "ordinary",
                   way >> 1 ? ", fetched" : "", best[way] * 1e3, best[way] * 2e6 / count);
    }
    return 0;
}
