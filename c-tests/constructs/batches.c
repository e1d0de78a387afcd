/* Dynamic loops of all sizes and chunks, one after the other without barriers, with some long iterations: threads are several loops
   apart and take from each other. Every iteration is executed once; lastprivate gets the last one's value. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOPS = 8, MOST = 20000 };
static unsigned state = 12345;
static unsigned next(void) { return (state = state * 1664525u + 1013904223u) >> 8; }
static unsigned char count[LOOPS][MOST];

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 150;
    long wrong = 0;
    for (int k = 0; k < rounds; k++) {
        int n[LOOPS], chunk[LOOPS], work[LOOPS], threads = 1 + (int)(next() % 6), last = -1;
        for (int j = 0; j < LOOPS; j++) {
            n[j] = 1 + (int)(next() % (next() % 3 ? MOST : 50));
            chunk[j] = 1 + (int)(next() % (next() % 4 ? 3 : 40));
            work[j] = next() % 4 ? 0 : (int)(next() % 200);
            for (int i = 0; i < n[j]; i++) count[j][i] = 0;
        }
#pragma omp parallel num_threads(threads)
        {
            for (int j = 0; j < LOOPS; j++) {
#pragma omp for schedule(dynamic, chunk[j]) nowait
                for (int i = 0; i < n[j]; i++) {
#pragma omp atomic
                    count[j][i]++;
                    if (work[j] && i % 97 == 0)
                        for (volatile int w = 0; w < work[j] * 50; w++) {}
                }
#pragma omp single nowait
                { __asm__ volatile(""); }
            }
#pragma omp barrier
#pragma omp for schedule(dynamic, chunk[0]) lastprivate(last)
            for (int i = 0; i < n[0]; i++) last = i;
        }
        wrong += last != n[0] - 1;
        for (int j = 0; j < LOOPS; j++)
            for (int i = 0; i < n[j]; i++) wrong += count[j][i] != 1;
    }
    printf("%ld wrong\n", wrong);
    return wrong != 0;
}
