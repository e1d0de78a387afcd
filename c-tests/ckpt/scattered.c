/* Writes to pages here and there, so that the kernel tells of thousands of small ranges in one mapping; work that cannot be
   repeated, so a failure rolls back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { PAGES = 9000, LONGS = 512 };
int main(void) {
    long *a = malloc(PAGES * LONGS * sizeof(long));
    memset(a, 1, PAGES * LONGS * sizeof(long));
    for (int step = 0; step < 3000; step++) {
        int stride = 2 + step % 3;
#pragma omp parallel for schedule(static)
        for (int p = 0; p < PAGES; p++)
            if (p % stride == 0)
                for (int k = 0; k < 16; k++) a[(long)p * LONGS + k] = a[(long)p * LONGS + k] * 3 + step + p;
    }
    unsigned long sum = 0;
    for (long i = 0; i < (long)PAGES * LONGS; i++) sum = sum * 31 + (unsigned long)a[i];
    printf("%lu\n", sum);
    return 0;
}
