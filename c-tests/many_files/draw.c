/* A random generator in a file of its own, and an error path with message and exit. */
#include "draw.h"
#include <stdio.h>
#include <stdlib.h>
double draw(Draw *d) {
    d->state = d->state * 6364136223846793005ull + 1442695040888963407ull;
    double x = (double)(d->state >> 11) / 9007199254740992.0;
    if (!(x >= 0 && x < 1)) out_of_range("a number", 0, x);
    return x;
}
void out_of_range(const char *what, int i, double x) {
    fprintf(stderr, "%s is out of range: %g at %d\n", what, x, i);
    fflush(stderr);
    exit(3);
}
