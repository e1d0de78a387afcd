/* A library with something to compute, for programs in other languages. */
#include <omp.h>
double work(int step) {
    static double a[10000];
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10000; i++) {
        a[i] = a[i] * 0.5 + (i % 7) * step;
        sum += (long)a[i];
    }
    double until = omp_get_wtime() + 0.002; /* time for something to happen */
#pragma omp parallel
    while (omp_get_wtime() < until) {}
    return sum / 1e5;
}
