// Loops of every verdict, for `promp-cc --explain`: tests/explain.rs knows the lines. other.c is built by
// another compiler.
#include <stdio.h>
#include <string.h>

enum { N = 200000, STEPS = 20 };

double other(double x);

static double a[N], b[N];
static int at[N];
static long sum;

static void scatter(int n, const int *k, double *x, const double *y)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        x[k[i]] += y[i] * 0.5;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < N; i++)
        at[i] = (int)(i * 7919L % N);
    for (int t = 0; t < STEPS; t++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            a[i] = i * 0.5 + t;
        scatter(N, at, b, a);
#pragma omp parallel for schedule(dynamic, 1000)
        for (int i = 0; i < N; i++) {
            if (argc > 1 && !strcmp(argv[1], "loud") && i == 0)
                fprintf(stderr, ".");
            a[i] += 1;
        }
#pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < 20000; i++)
            b[i] = other(a[i]);
#pragma omp parallel for
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            sum ^= i;
            a[i] = 3;
        }
    }
    printf("%g %g %ld\n", a[5], b[7], sum);
    return argc > 2 ? 7 : 0;
}
