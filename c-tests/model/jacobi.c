// DOALL: sweeps of Jacobi's iteration on an N × N grid. Prints the serial cost of blocks of rows, and the
// times of a sweep: of regions of one each (time), and of many in one region (spmd, with how many).
// Usage: jacobi N THREADS ROUNDS
#include "measure.h"

static long n;
static double *a, *b;

static void row (const double *restrict from, double *restrict to, long i)
{
  for (long j = 1; j < n - 1; j++)
    {
      const double *at = from + i * n + j;
      to[i * n + j] = 0.25 * (at[-1] + at[1] + at[-n] + at[n]);
    }
}

static void sweep (int p)
{
#pragma omp parallel for num_threads(p) schedule(static)
  for (long i = 1; i < n - 1; i++)
    row (a, b, i);
  double *t = a;
  a = b;
  b = t;
}

// An even number of sweeps in one region: the result is in a.
static void together (int p, int sweeps)
{
#pragma omp parallel num_threads(p)
  for (int s = 0; s < sweeps; s += 2)
    {
#pragma omp for schedule(static)
      for (long i = 1; i < n - 1; i++)
        row (a, b, i);
#pragma omp for schedule(static)
      for (long i = 1; i < n - 1; i++)
        row (b, a, i);
    }
}

int main (int argc, char **argv)
{
  n = argument (argc, argv, 1, 512);
  int threads = argument (argc, argv, 2, 2), rounds = argument (argc, argv, 3, 15);
  if (n < 3 || threads < 1 || rounds < 1 || rounds > MOST)
    return 2;
  a = calloc (n * n, sizeof *a);
  b = calloc (n * n, sizeof *b);
  for (long j = 0; j < n; j++)
    a[j] = b[j] = 1;
  // Without any region: what the serial program takes, block by block.
  enum { BLOCKS = 16, SWEEPS = 20 };
  for (int k = 0; k < BLOCKS; k++)
    {
      long lo = (n - 2) * k / BLOCKS, hi = (n - 2) * (k + 1) / BLOCKS;
      double t[MOST];
      for (int r = 0; r < rounds; r++)
        {
          double start = omp_get_wtime ();
          for (long i = lo; i < hi; i++)
            row (a, b, i + 1);
          t[r] = omp_get_wtime () - start;
        }
      print_times ("block", k, hi - lo, t, rounds);
    }
  // In turn, so that all meet the same disturbance.
  double t[MOST][MOST], in_one[MOST][MOST];
  for (int r = 0; r < rounds; r++)
    for (int p = 1; p <= threads && p < MOST; p++)
      {
        sweep (p);
        double start = omp_get_wtime ();
        for (int s = 0; s < SWEEPS; s++)
          sweep (p);
        double between = omp_get_wtime ();
        together (p, SWEEPS);
        in_one[p][r] = (omp_get_wtime () - between) / SWEEPS;
        t[p][r] = (between - start) / SWEEPS;
      }
  for (int p = 1; p <= threads && p < MOST; p++)
    {
      print_times ("time", p, n, t[p], rounds);
      print_times ("spmd", p, SWEEPS, in_one[p], rounds);
    }
  printf ("sum: %.17g\n", a[n + n / 2] + b[2 * n + n / 2]);
  return 0;
}
