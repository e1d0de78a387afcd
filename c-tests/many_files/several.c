// Functions that are given to others as pointers: several of this file, which update what they are given and
// more, and now and then one of which nothing is known.
#include <math.h>
#include <stdio.h>

enum { N = 160, M = 24 };
typedef double Step(double, void *);
double outside(double x, void *of); // station.c, built by gcc

static double of[N][M], seen[N];
typedef struct {
    double *row;
    int which;
} Place;

static double halved(double x, void *p) {
    double *row = p;
    for (int k = 0; k < M; k++) row[k] = row[k] * 0.5 + x;
    return row[M / 2] * 0.25;
}

static double kept(double x, void *p) {
    double *row = p;
    row[0] = row[0] * 0.75 + x;
    return sqrt(row[0] * row[0] + 1);
}

// What is updated is behind a structure.
static double counted(double x, void *p) {
    Place *at = p;
    seen[at->which] = seen[at->which] * 0.5 + x;
    at->row[at->which % M] += 0.125;
    return seen[at->which];
}

static double looked_at(double x, void *p) {
    Place *at = p;
    return at->row[3] * 0.5 + seen[at->which] + x;
}

// Nobody sees which ones these are.
Step *const ways[2] = { halved, kept };
Step *places[3] = { counted, looked_at, counted };

__attribute__((noinline)) double steps(Step *f, double x, void *p, int n) {
    for (int k = 0; k < n; k++) x = f(x, p) * 0.5 + k * 0.25;
    return x;
}

int main(void) {
    double sum[N] = { 0 };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) of[i][k] = i % 17 + k * 0.5;
    for (int r = 0; r < 80; r++) {
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 0; i < N; i++) {
            Place at = { of[(i + 1) % N], i };
            double mine[M] = { i, r };
            Step *f = r % 20 == 7 && i % 40 == 0 ? outside : ways[(i + r) % 2];
            for (int k = 0; k < 4; k++) sum[i] += steps(f, r * 0.5, of[i], 6) * 0.01;
            sum[i] += steps(f, r, mine, 3) * 0.01 + mine[1];
            sum[i] = sqrt(sum[i] * sum[i] + 1) * 0.75;
            at.row = mine;
            sum[i] += steps(places[(i + r) % 3], 1, &at, 4) * 0.01 + mine[i % M];
        }
    }
    double s = 0;
    for (int i = 0; i < N; i++) {
        s = s * 0.999 + sum[i] + seen[i];
        for (int k = 0; k < M; k++) s = s * 0.999 + of[i][k];
    }
    printf("%.17g\n", s);
    return 0;
}
