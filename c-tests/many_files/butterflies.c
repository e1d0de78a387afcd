// Rows at equal distances are updated, as in an FFT's butterflies, in loops and in functions; and members of
// structures, one behind the other. Each update changes what it updates.
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 96, LONG = 40, STEPS = 60 };

struct body {
    double x, y, z;
    float mass;
    int seen;
};

static double work[LINES][8 * LONG];
static struct body bodies[LINES];
static int counts[LINES][4 * LONG];

// The rows' length is not known, and they are in no order.
__attribute__ ((noinline)) static void radix (double *x, long rows, long n, long part) {
    for (long r = 0; r < rows; r++)
        for (long i = 0; i < n; i++) {
            double a = x[i + n * r], b = x[i + n * (r + rows * 2)];
            double c = x[i + n * (r + rows)], d = x[i + n * (r + rows * 3)];
            x[i + n * (r + rows * 3)] = d * 0.5 + a * 0.25 - part;
            x[i + n * r] = a * 0.5 + b * 0.25;
            x[i + n * (r + rows)] = c * 0.5 + d * 0.125;
            x[i + n * (r + rows * 2)] = b * 0.5 - c * 0.25 + 1;
        }
}

// Every second element, with subscripts of 32 bits, backwards.
__attribute__ ((noinline)) static void odd (int *x, int n) {
    for (int i = n - 1; i >= 0; i--) {
        x[2 * i + 1] = x[2 * i + 1] * 3 + x[2 * (i + n)];
        x[2 * (i + n)] = x[2 * (i + n)] * 5 + 1;
    }
}

__attribute__ ((noinline)) static void move (struct body *b, double by) {
    b->y = b->y * 0.5 + by;
    b->x = b->x * 0.5 + b->y;
    b->mass = b->mass * 0.5f + 1;
    b->z = b->z * 0.5 + b->x;
    b->seen = b->seen * 3 + 1;
}

int main (void) {
    for (int l = 0; l < LINES; l++) {
        bodies[l].seen = l;
        for (int i = 0; i < 8 * LONG; i++)
            work[l][i] = l + i % 7;
        for (int i = 0; i < 4 * LONG; i++)
            counts[l][i] = l * 3 + i;
    }
    for (int s = 0; s < STEPS; s++) {
#pragma omp parallel for schedule(dynamic, 2)
        for (int l = 0; l < LINES; l++) {
            for (int t = 0; t < 40; t++) {
                radix (work[l], 2, LONG, s);
                radix (work[l], 1, 2 * LONG, t);
                odd (counts[l], LONG);
                move (&bodies[l], s * 0.25);
            }
        }
        // The same in the segment itself.
#pragma omp parallel for
        for (int l = 0; l < LINES; l++)
            for (int i = 0; i < LONG; i++) {
                double a = work[l][i];
                work[l][i] = a * 0.5 + work[l][i + 4 * LONG];
                work[l][i + 2 * LONG] = work[l][i + 2 * LONG] * 0.5 + a;
                work[l][i + 4 * LONG] = work[l][i + 4 * LONG] * 0.5 - a;
                work[l][i + 6 * LONG] = work[l][i + 6 * LONG] * 0.25 + 1;
            }
    }
    double sum = 0;
    unsigned n = 0;
    for (int l = 0; l < LINES; l++) {
        sum += bodies[l].x + bodies[l].y + bodies[l].z + bodies[l].mass;
        n = n * 31 + bodies[l].seen;
        for (int i = 0; i < 8 * LONG; i++)
            sum = sum * 0.9999 + work[l][i];
        for (int i = 0; i < 4 * LONG; i++)
            n = n * 31 + counts[l][i];
    }
    printf ("%.17g %u\n", sum, n);
    return 0;
}
