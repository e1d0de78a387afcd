/* vain.c often|seldom TIMES: short chunks of a dynamic loop that update elements through an index, all of
   them, or one in 64 chunks; the others only read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long update(long *restrict value, const int *restrict where, int n, int every) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 200; k++) sum += where[(i + k * 37) % n] % (k + 3);
        if (i / 4 % every == 0)
            for (int k = 0; k < 40; k++) value[where[i] + k * n] += k + i;
    }
    return sum;
}
int main(int argc, char **argv) {
    int every = argc > 1 && !strcmp(argv[1], "often") ? 1 : 64, n = 1 << 13;
    int times = argc > 2 ? atoi(argv[2]) : 1;
    int *where = malloc(n * sizeof *where);
    long *value = calloc(40L * n, sizeof *value), sum = 0;
    for (int i = 0; i < n; i++) where[i] = i ^ 37;
    for (int t = 0; t < times; t++) sum += update(value, where, n, every);
    for (long i = 0; i < 40L * n; i++) sum += value[i] * (i % 7);
    printf("%ld\n", sum);
}
