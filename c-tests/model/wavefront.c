// DOACROSS: relaxation of an N × N × N grid in which every point needs its three predecessors. A thread has a
// block of rows i; the other two dimensions, flattened, are cut into tiles of b; a tile waits for the same
// tile of the block before. Without tiles one thread executes all, and then the blocks that several would
// have, one after the other: how many planes are in hand at once decides what caches hold.
// Usage: wavefront N THREADS ROUNDS [B …]
#include "measure.h"

static long n;
static double *u;

// The same code for all.
static __attribute__ ((noinline)) void tile (long first, long last, long from, long to)
{
  long plane = n * n;
  for (long x = from; x < to; x++)
    for (long i = first; i < last; i++)
      {
        double *at = u + i * plane + x;
        at[0] = 0.25 * (at[-plane] + at[-1] + at[-n] + at[0]);
      }
}

static long bound (long t, int p)
{
  return 1 + (n - 1) * t / p;
}

static void relax (int p, long b)
{
  // The first plane and the first row stay.
  long from = n + 1, length = n * n - from, tiles = (length + b - 1) / b;
#pragma omp parallel num_threads(p)
#pragma omp for ordered(2) schedule(static, 1)
  for (long t = 0; t < p; t++)
    for (long k = 0; k < tiles; k++)
      {
#pragma omp ordered depend(sink : t - 1, k)
        long at = from + k * b;
        tile (bound (t, p), bound (t + 1, p), at, at + b < n * n ? at + b : n * n);
#pragma omp ordered depend(source)
      }
}

int main (int argc, char **argv)
{
  n = argument (argc, argv, 1, 64);
  int threads = argument (argc, argv, 2, 2), rounds = argument (argc, argv, 3, 9);
  if (n < 4 || threads < 1 || rounds < 1 || rounds > MOST)
    return 2;
  u = malloc (n * n * n * sizeof *u);
  for (long i = 0; i < n * n * n; i++)
    u[i] = i % 7;
  double t[MOST];
  for (int p = 1; p <= threads && argc < 5; p++)
    {
      for (int r = 0; r < rounds; r++)
        {
          double start = omp_get_wtime ();
          for (int k = 0; k < p; k++)
            tile (bound (k, p), bound (k + 1, p), n + 1, n * n);
          t[r] = omp_get_wtime () - start;
        }
      print_times ("serial", p, n * n, t, rounds);
    }
  for (int p = 1; p <= threads; p++)
    for (int k = 4; k < argc; k++)
      {
        long b = atol (argv[k]);
        if (b < 1)
          return 2;
        relax (p, b);
        for (int r = 0; r < rounds; r++)
          {
            double start = omp_get_wtime ();
            relax (p, b);
            t[r] = omp_get_wtime () - start;
          }
        print_times ("time", p, b, t, rounds);
      }
  double sum = 0;
  for (long i = 0; i < n * n * n; i++)
    sum += u[i];
  printf ("sum: %.17g\n", sum);
  return 0;
}
