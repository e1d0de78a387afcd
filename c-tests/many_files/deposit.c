/* Functions that other files call, with lock sections in them: what they do behind their last section is done
   for callers that are not known here. */
#include <math.h>

double total;

static double worked(double *row, int n, double x, double part)
{
    double s = 0;
    for (int k = 0; k < 40; k++)
        for (int i = 0; i < n; i++) {
            row[i] = row[i] * part + sin(x + i);
            s += row[i];
        }
    return s;
}

double deposit(double *row, int n, double x)
{
#pragma omp critical(total)
    total += x;
    return worked(row, n, x, 0.5);
}

/* A function of this file alone, whose callers write behind its return. */
static void __attribute__((noinline)) count(int *n, double x)
{
#pragma omp critical(total)
    total += x;
    n[0]++;
}

/* One that makes no runtime call itself. */
double twice(double *row, int n, double x, int *counts)
{
    count(counts, x);
    double s = worked(row, n, x, 0.25);
    if (counts[0] % 2)
        count(counts + 1, -x);
    return s + worked(row, n, -x, 0.75);
}
