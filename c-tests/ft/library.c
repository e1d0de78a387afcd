/* Chunks that spend most of their time in calls of the C library: the allocator, realloc that moves blocks while it holds the
 * arena's lock, sorting with a comparison function, text. Each chunk writes its own results only: it may be executed again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4000

static long out[N];

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Small blocks, freed in another order. */
static long blocks(int i) {
    char *b[40];
    long s = 0;
    for (int k = 0; k < 40; k++) {
        b[k] = malloc(24 + (i * 7 + k * 131) % 900);
        b[k][0] = (char)(i + k);
    }
    for (int k = 0; k < 40; k++) {
        int j = k * 17 % 40;
        s += b[j][0] * (k + 1);
        free(b[j]);
    }
    return s;
}

/* A block that grows and must move: memcpy inside realloc. */
static long growing(int i) {
    size_t n = 1000;
    unsigned char *p = malloc(n), *fence = NULL;
    long s = 0;
    for (size_t k = 0; k < n; k++) p[k] = (unsigned char)(i + k);
    for (int r = 0; r < 6; r++) {
        unsigned char *f = malloc(64);
        p = realloc(p, 2 * n);
        memcpy(p + n, p, n);
        n *= 2;
        free(fence);
        fence = f;
    }
    free(fence);
    for (size_t k = 0; k < n; k += 97) s += p[k];
    free(p);
    return s;
}

/* The comparison function is called back; qsort has a temporary block. */
static long sorted(int i) {
    int v[600];
    long s = 0;
    for (int k = 0; k < 600; k++) v[k] = (int)((unsigned)(i + 1) * (unsigned)(k + 3) * 2654435761u >> 9);
    qsort(v, 600, sizeof *v, ascending);
    for (int k = 0; k < 600; k++) s += (long)v[k] % 1009 * k;
    return s;
}

static long text(int i) {
    char b[200];
    long s = 0;
    for (int k = 0; k < 20; k++) s += snprintf(b, sizeof b, "%d %.12g %s", i * k, i / (k + 1.5), "text") + atol(b) + b[5];
    return s;
}

int main(void) {
    static long (*const work[])(int) = {blocks, growing, sorted, text};
    for (int r = 0; r < 4; r++) {
        #pragma omp parallel for schedule(dynamic, 10)
        for (int i = 0; i < N; i++) out[i] = work[(i / 10 + r) % 4](i);
        unsigned long sum = 0;
        for (int i = 0; i < N; i++) sum = sum * 31 + (unsigned long)out[i];
        printf("%d %lu\n", r, sum);
    }
}
