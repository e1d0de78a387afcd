/* Reductions: the private partial sums of a failed thread must be neither lost nor counted twice. Integers: exact. */
#include <stdio.h>

static volatile int work;

int main(void) {
    long total = 0, fixed = 0, explicit_sum = 0;
    for (int r = 0; r < 20; r++) {
        long s = 0, t = 0;
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : s)
        for (int i = 0; i < 1000; i++) {
            for (int k = 0; k < 300; k++) work = k;
            s += (long)i * (r + 1);
        }
#pragma omp parallel for reduction(+ : t)
        for (int i = 0; i < 1000; i++) {
            for (int k = 0; k < 300; k++) work = k;
            t += (long)i * (r + 2);
        }
        long mine = 0;
#pragma omp parallel firstprivate(mine)
        {
#pragma omp for schedule(guided, 4)
            for (int i = 0; i < 1000; i++) {
                for (int k = 0; k < 300; k++) work = k;
                mine += i;
            }
#pragma omp critical
            explicit_sum += mine;
        }
        total += s, fixed += t;
    }
    printf("dynamic %ld static %ld critical %ld\n", total, fixed, explicit_sum);
    return 0;
}
