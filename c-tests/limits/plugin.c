/* A library with OpenMP code, loaded and unloaded by limits/loader.c. */
#include <omp.h>
static int mine;
#pragma omp threadprivate(mine)
long sum(int n) {
    long s = 0;
#pragma omp parallel reduction(+ : s)
    {
        mine++;
#pragma omp for schedule(guided)
        for (int i = 0; i < n; i++) s += i;
#pragma omp single
#pragma omp task
        mine++;
    }
    return s;
}
