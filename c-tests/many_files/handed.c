// Functions that are given to others as pointers: a minimiser with what it is to minimise, by way of another
// function. One of them prints, and is handed over outside of loops only; another one is now and then.
#include <math.h>
#include <stdio.h>

enum { N = 240, M = 12 };
typedef double Of(double, void *);

typedef struct {
    const double *row;
    double *best;
    int asked;
} Question;

static double of[N][M], best[N], found[N];

static double distance(double x, void *p) {
    Question *q = p;
    double sum = 0;
    q->asked++;
    for (int k = 0; k < M; k++) sum += (q->row[k] - x) * (q->row[k] - x);
    if (sum < *q->best) *q->best = sum;
    return sum;
}

static double height(double x, void *p) {
    Question *q = p;
    q->asked++;
    return fabs(q->row[q->asked % M] - x);
}

static double told(double x, void *p) {
    fprintf(stderr, "asked for %g\n", x);
    return distance(x, p);
}

__attribute__((noinline)) double narrowed(Of *f, void *p, double low, double high, int times) {
    double at = (low + high) / 2, value = f(at, p);
    for (int k = 0; k < times; k++) {
        double left = (low + at) / 2, right = (at + high) / 2;
        double l = f(left, p), r = f(right, p);
        if (l < value && l <= r) high = at, at = left, value = l;
        else if (r < value) low = at, at = right, value = r;
        else low = left, high = right;
    }
    return at;
}

__attribute__((noinline)) double least(Of *f, void *p, double low, double high) {
    if (f(low, p) < f(high, p)) return narrowed(f, p, low, (low + high) / 2, 6);
    double at = narrowed(f, p, low, high, 6);
    return narrowed(f, p, at - 1, at + 1, 6);
}

int main(void) {
    for (int i = 0; i < N; i++) {
        best[i] = 1e9;
        for (int k = 0; k < M; k++) of[i][k] = (i * 7 + k * k * 13) % 29 * 0.25;
    }
    double all = 1e9, sum = 0;
    Question first = { of[0], &all, 0 };
    sum += least(told, &first, -1, 1);
    for (int r = 0; r < 60; r++) {
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 0; i < N; i++) {
            Question q = { of[(i + r) % N], &best[i], 0 };
            found[i] = found[i] * 0.75 + least(distance, &q, -2, 9) + least(height, &q, 0, 7);
            found[i] += q.asked * 0.125;
        }
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 0; i < N; i++) {
            double low = 1e9;
            Question q = { of[i], &low, r };
            found[i] += (i % 3 ? least(distance, &q, -2, 9) : narrowed(height, &q, 0, 7, 4)) * 0.01 + low;
        }
    }
    for (int i = 0; i < N; i++) sum = sum * 0.999 + found[i] + best[i];
    printf("%.17g %g\n", sum, all);
    return 0;
}
