/* Merge sort of size * 1000 numbers; tasks down to 512 numbers, the merges parallel, too. */
#include "program.h"

enum { SMALL = 512 };

static int less(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static long lower_bound(const uint32_t *a, long n, uint32_t key) {
    long low = 0;
    while (low < n) {
        long middle = (low + n) / 2;
        if (a[middle] < key) low = middle + 1;
        else n = middle;
    }
    return low;
}

static void merge(const uint32_t *a, long n, const uint32_t *b, long m, uint32_t *out) {
    if (n < m) {
        merge(b, m, a, n, out);
        return;
    }
    if (n + m <= 4 * SMALL) {
        long i = 0, j = 0;
        while (i < n || j < m) *out++ = j == m || (i < n && a[i] <= b[j]) ? a[i++] : b[j++];
        return;
    }
    long half = n / 2, split = lower_bound(b, m, a[half]);
#pragma omp task
    merge(a, half, b, split, out);
    merge(a + half, n - half, b + split, m - split, out + half + split);
#pragma omp taskwait
}

static void sort(uint32_t *a, uint32_t *spare, long n) {
    if (n <= SMALL) {
        qsort(a, (size_t)n, sizeof *a, less);
        return;
    }
    long half = n / 2;
#pragma omp task
    sort(a, spare, half);
    sort(a + half, spare + half, n - half);
#pragma omp taskwait
    merge(a, half, a + half, n - half, spare);
    memcpy(a, spare, (size_t)n * sizeof *a);
}

static long long solve(int size) {
    long n = 1000L * size;
    uint32_t *a = malloc((size_t)n * sizeof *a), *spare = malloc((size_t)n * sizeof *a);
    for (long i = 0; i < n; i++) a[i] = (uint32_t)mix((uint64_t)i);
#pragma omp parallel
#pragma omp single
    sort(a, spare, n);
    uint64_t r = 0;
    for (long i = 0; i < n; i++) {
        if (i && a[i - 1] > a[i]) return -1;
        r = mix(r ^ a[i]);
    }
    free(a);
    free(spare);
    return (long long)(r >> 1);
}
PROGRAM(1000)
