// Calls a library whose regions nothing is known of, between loops of its own.
#include <stdio.h>
#include "relay.h"

enum { N = 4000 };
static double x[N], y[N];

int main(void) {
    double sum = 0;
    for (int step = 0; step < 12; step++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++)
            y[i] = y[i] * 0.5 + x[i] + i;
        sum += relay(x, N, 60) + y[step];
    }
    printf("%.17g\n", sum);
    return 0;
}
