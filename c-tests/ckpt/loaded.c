/* A library (-DLIBRARY) whose constructor uses OpenMP before the program has begun, and before a preloaded runtime's own
   constructor: OpenBLAS does so. */
#include <stdio.h>
#ifdef LIBRARY
double table[1000];
__attribute__((constructor)) static void fill(void) {
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) table[i] = i % 13;
}
#else
extern double table[1000];
int main(void) {
    static double a[200000];
    for (int step = 0; step < 800; step++) {
#pragma omp parallel for
        for (int i = 0; i < 200000; i++)
            for (int k = 0; k < 10; k++) a[i] = a[i] * 0.5 + table[(i + step + k) % 1000];
    }
    double sum = 0;
    for (int i = 0; i < 200000; i++) sum += a[i];
    printf("%.9f\n", sum);
    return 0;
}
#endif
