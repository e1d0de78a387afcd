/* Directives: fragments, the schedule of lost work, candidate checkpoints. */
#include <stdio.h>
static double a[12000];
int main(void) {
#pragma promp frags(5)
#pragma omp parallel for
    for (int i = 0; i < 12000; i++) a[i] = a[i] + i;
#pragma omp parallel
    {
#pragma promp frags(3)
#pragma promp recompute(static)
#pragma omp for
        for (int i = 0; i < 12000; i++) a[i] *= 2;
#pragma omp for
        for (int i = 0; i < 40; i++) a[i] += 1;
    }
#pragma promp checkpoint
    double s = 0;
    for (int i = 0; i < 12000; i++) s += a[i];
    printf("%.1f\n", s);
    return 0;
}
