/* Rows are cleared, some of them in part or not at all, and updated in and out of what was cleared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { B = 64, L = 4000 };
static int *c; static int idx[B * 50]; static int lens[B];
int main(int argc, char **argv) {
    c = malloc(sizeof(int) * (B + 1) * L);
    for (int i = 0; i < (B + 1) * L; i++) c[i] = i % 101;
    for (int i = 0; i < B * 50; i++) idx[i] = (i * 7919) % (L + 60); /* some behind the row: in the next, of the same thread's share mostly */
    for (int i = 0; i < B; i++) lens[i] = i % 30 ? L : i % 20 ? 0 : 1000;
    for (int r = 0; r < 60; r++) {
        #pragma omp parallel for schedule(static) num_threads(2)
        for (int b = 0; b < B; b++) {
            if (b % 32 == 31) continue; /* the next row is another thread's */
            int *row = c + b * L, n = lens[b];
            for (int i = 0; i < n; i++) row[i] = 0;
            for (int k = 0; k < 20000; k++) row[idx[b * 50 + k % 50]] += k + r;
        }
    }
    unsigned long s = 0;
    for (int i = 0; i < (B + 1) * L; i++) s = s * 31 + c[i];
    printf("%lu\n", s);
}
