/* An alternating-direction implicit solver like NPB's BT and SP: five coupled fields on a cube, in each step a right-hand side and one
   tridiagonal solve along each direction. The whole time loop is one parallel region; every sweep ends in a barrier. The
   result does not depend on the number of threads: it is compared with that of one thread. */
#include "npb.h"
#include <omp.h>

enum { FIELDS = 5 };
static int n;
static double *u, *rhs;

static inline size_t at(int i, int j, int k) { return (((size_t)k * n + j) * n + i) * FIELDS; }

/* Solves (1 + 2r) x[l] - r x[l-1] - r x[l+1] = b[l] in place for all fields of a line; elements `stride` apart. */
static void solve_line(double *b, size_t stride, double r) {
    double c[256], d = 1 + 2 * r;
    c[0] = -r / d;
    for (int f = 0; f < FIELDS; f++) b[f] /= d;
    for (int l = 1; l < n; l++) {
        double m = 1 / (d + r * c[l - 1]);
        c[l] = -r * m;
        for (int f = 0; f < FIELDS; f++) b[l * stride + f] = (b[l * stride + f] + r * b[(l - 1) * stride + f]) * m;
    }
    for (int l = n - 2; l >= 0; l--)
        for (int f = 0; f < FIELDS; f++) b[l * stride + f] -= c[l] * b[(l + 1) * stride + f];
}

static double run(int steps) {
    for (size_t p = 0; p < (size_t)n * n * n * FIELDS; p++) u[p] = sin(0.001 * (double)(p % 7919)) + 1;
#pragma omp parallel
    for (int t = 0; t < steps; t++) {
        DEAD(rhs, sizeof(double) * FIELDS * n * n * n);
        PLACE();
        LOOP()
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++)
                    for (int f = 0; f < FIELDS; f++) {
                        double c = u[at(i, j, k) + f], other = u[at(i, j, k) + (f + 1) % FIELDS];
                        rhs[at(i, j, k) + f] = c + 0.01 * (other - c) * c;
                    }
        LOOP()
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) solve_line(rhs + at(0, j, k), FIELDS, 0.3);
        LOOP()
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++) solve_line(rhs + at(i, 0, k), (size_t)n * FIELDS, 0.3);
        LOOP()
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) solve_line(rhs + at(i, j, 0), (size_t)n * n * FIELDS, 0.3);
        LOOP()
        for (int k = 0; k < n; k++)
            for (size_t p = at(0, 0, k); p < at(0, 0, k) + (size_t)n * n * FIELDS; p++) u[p] = 0.5 * (u[p] + rhs[p]);
    }
    double s = 0;
    for (size_t p = 0; p < (size_t)n * n * n * FIELDS; p++) s += u[p] * (double)(p % 13);
    return s;
}

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    static const struct { char class; int n, steps; } classes[] = {{'S', 12, 60}, {'W', 36, 100}, {'A', 64, 200}, {'B', 102, 200}};
    size_t c = 0;
    while (c < 4 && classes[c].class != class) c++;
    if (c == 4) return 2;
    n = classes[c].n;
    u = malloc(sizeof(double) * FIELDS * n * n * n), rhs = malloc(sizeof(double) * FIELDS * n * n * n);
    double got = run(TIMES * classes[c].steps);
    printf("sum %.15e\n", got);
    /* With an argument more: compared with one thread (twice the time). */
    int ok = isfinite(got);
    if (argc > 2) {
        omp_set_num_threads(1);
        ok = got == run(TIMES * classes[c].steps);
    }
    return npb_verdict("ADI", class, ok);
}
