/* Large private arrays, deep stacks inside a chunk, and the C library inside chunks (memcpy, qsort). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int deep(int n) { volatile char pad[512]; pad[0] = n; return n ? deep(n - 1) + pad[0] % 2 : 0; }

int main(void) {
    enum { N = 64, M = 2000 };
    static long out[N];
#pragma omp parallel
    {
        int buf[M], copy[M];
#pragma omp for schedule(dynamic)
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < M; k++) buf[k] = (k * 7919 + i * 104729) % 10007;
            memcpy(copy, buf, sizeof copy);
            qsort(copy, M, sizeof(int), cmp);
            long s = deep(50);
            for (int k = 0; k < M; k++) s += (long)copy[k] * (k % 10);
            out[i] = s;
        }
    }
    long total = 0;
    for (int i = 0; i < N; i++) total += out[i] % 100003;
    printf("big %ld\n", total);
    return 0;
}
