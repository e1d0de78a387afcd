// The last instruction of a loop's function is a call that does not come back. It never happens here.
#include <stdio.h>
#include <stdlib.h>

enum { N = 400 };
static double in[N], out[N];

__attribute__((noinline, noreturn)) static void fails(int i) {
    fprintf(stderr, "%d\n", i);
    exit(3);
}

int main(void) {
    for (int i = 0; i < N; i++) in[i] = i;
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int i = 0; i < N; i++) {
            double x = in[i];
            if (x < 0) fails(i);
            for (int k = 0; k < 20000; k++) x = x * 0.5 + k;
            out[i] = x;
        }
    }
    double s = 0;
    for (int i = 0; i < N; i++) s += out[i];
    printf("%.6f\n", s);
    return 0;
}
