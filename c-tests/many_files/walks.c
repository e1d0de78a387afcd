/* Random walks: each iteration draws its numbers by a function of another file, or of a library. */
#include "draw.h"
#include <stdio.h>
#include <stdlib.h>
enum { WALKS = 2000, STEPS = 60, ROUNDS = 40 };
int main(void) {
    double *at = calloc(WALKS, sizeof *at);
    Draw *d = malloc(WALKS * sizeof *d);
    for (int i = 0; i < WALKS; i++) d[i].state = 88172645463325252ull + i;
    for (int r = 0; r < ROUNDS; r++) {
        #pragma omp parallel for
        for (int i = 0; i < WALKS; i++) {
            double x = at[i];
            for (int k = 0; k < STEPS; k++) x += draw(&d[i]) - 0.5;
            if (x > 1e6) out_of_range("a walk", i, x);
            at[i] = x;
        }
    }
    double s = 0;
    for (int i = 0; i < WALKS; i++) s = s * 0.9999 + at[i];
    printf("%.15g\n", s);
}
