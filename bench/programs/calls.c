/* calls N WHICH: one construct N times, by one thread; for counting instructions. */
#include <stdlib.h>

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[1]) : 0, which = argc > 2 ? atoi(argv[2]) : 0;
    if (which == 4) {
        for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(1)
            __asm__ volatile("");
        }
        return 0;
    }
#pragma omp parallel num_threads(1)
    switch (which) {
    case 0:
        for (int i = 0; i < n; i++) {
#pragma omp task if (0)
            __asm__ volatile("");
        }
        break;
    case 1:
        for (int i = 0; i < n; i++) {
#pragma omp task
            __asm__ volatile("");
        }
        break;
    case 2:
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < n; i++) __asm__ volatile("");
        break;
    default:
        for (int i = 0; i < n; i++) {
#pragma omp taskwait
        }
    }
    return 0;
}
