// An iteration says something, and cannot be executed again from then on; later it frees memory.
#include <stdio.h>
#include <stdlib.h>

static double out[200];

__attribute__((noinline)) static double work(int i) {
    fputc('.', stderr);
    double *p = malloc(1000 * sizeof *p), s = 0;
    for (int k = 0; k < 1000; k++) p[k] = i + k * 0.5;
    for (int r = 0; r < 100; r++)
        for (int k = 1; k < 1000; k++) p[k] = (p[k] + p[k - 1]) * 0.5;
    for (int k = 0; k < 1000; k++) s += p[k];
    free(p);
    return s;
}

int main(void) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < 200; i++) out[i] = work(i);
    double s = 0;
    for (int i = 0; i < 200; i++) s += out[i];
    printf("%.6f\n", s);
    return 0;
}
