// Line sweeps as in NPB's BT, for bench/tune.py: a tridiagonal solve along each direction of a cube, five
// fields a point. SCHEDULE: of its loops; static ones can be tuned if promp-cc builds them.
// Usage: bt SIZE EXECUTIONS
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef SCHEDULE
#define SCHEDULE static
#endif
#define PRAGMA(x) _Pragma (#x)
#define SWEEP(schedule_) PRAGMA (omp parallel for schedule (schedule_))

enum { MOST = 64, FIELDS = 5 };
static double u[MOST][MOST][MOST][FIELDS];
static int n;

static inline double factor (int l) { return 1.0 / (2.25 + 0.01 * (l % 7)); }

static void along_i (void)
{
  SWEEP (SCHEDULE)
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      {
        for (int i = 1; i < n; i++)
          for (int f = 0; f < FIELDS; f++)
            u[k][j][i][f] = (u[k][j][i][f] + 0.5 * u[k][j][i - 1][f]) * factor (i);
        for (int i = n - 2; i >= 0; i--)
          for (int f = 0; f < FIELDS; f++)
            u[k][j][i][f] -= 0.25 * u[k][j][i + 1][f];
      }
}

static void along_j (void)
{
  SWEEP (SCHEDULE)
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      {
        for (int j = 1; j < n; j++)
          for (int f = 0; f < FIELDS; f++)
            u[k][j][i][f] = (u[k][j][i][f] + 0.5 * u[k][j - 1][i][f]) * factor (j);
        for (int j = n - 2; j >= 0; j--)
          for (int f = 0; f < FIELDS; f++)
            u[k][j][i][f] -= 0.25 * u[k][j + 1][i][f];
      }
}

static void along_k (void)
{
  SWEEP (SCHEDULE)
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      {
        for (int k = 1; k < n; k++)
          for (int f = 0; f < FIELDS; f++)
            u[k][j][i][f] = (u[k][j][i][f] + 0.5 * u[k - 1][j][i][f]) * factor (k);
        for (int k = n - 2; k >= 0; k--)
          for (int f = 0; f < FIELDS; f++)
            u[k][j][i][f] -= 0.25 * u[k + 1][j][i][f];
      }
}

static void add (void)
{
  SWEEP (SCHEDULE)
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        for (int f = 0; f < FIELDS; f++)
          u[k][j][i][f] = u[k][j][i][f] * 0.9 + 1e-3 * (i + j + k + f);
}

int main (int argc, char **argv)
{
  n = argc > 1 ? atoi (argv[1]) : 32;
  int executions = argc > 2 ? atoi (argv[2]) : 20;
  n = n < 2 ? 2 : n > MOST ? MOST : n;
  double start = omp_get_wtime (), half = start;
  for (int e = 0; e < executions; e++)
    {
      if (e == executions / 2)
        half = omp_get_wtime ();
      add ();
      along_i ();
      along_j ();
      along_k ();
    }
  double end = omp_get_wtime (), sum = 0;
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        sum += u[k][j][i][i % FIELDS];
  printf ("%.9g %.9g %.15g\n", end - start, end - half, sum);
}
