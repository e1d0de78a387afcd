// DSWP: the hot loop of NPB's EP as a pipeline of two stages. The first draws a batch of random numbers, the
// second, a task, makes Gaussian deviates of them and counts. Usage: pipeline M THREADS ROUNDS (2^M pairs: 24
// is class S, 25 W, 28 A)
#include "measure.h"
#include <math.h>

enum { BATCH = 1 << 16, AHEAD = 64 };

static double counts[10];

// As EP has it, memory that is there: what the system takes for new pages is no stage's.
static double batch[AHEAD][2 * BATCH];

static double random_number (unsigned long *x)
{
  *x = *x * 1220703125UL & ((1UL << 46) - 1);
  return *x * 0x1p-46;
}

static void first (unsigned long *x, double *v)
{
  for (int i = 0; i < 2 * BATCH; i++)
    v[i] = 2 * random_number (x) - 1;
}

static void second (double *v)
{
  double mine[10] = { 0 };
  for (int i = 0; i < BATCH; i++)
    {
      double x = v[2 * i], y = v[2 * i + 1], t = x * x + y * y;
      if (t <= 1)
        {
          double f = sqrt (-2 * log (t) / t), gx = fabs (x * f), gy = fabs (y * f);
          mine[(int) (gx > gy ? gx : gy)]++;
        }
    }
  for (int i = 0; i < 10; i++)
    if (mine[i])
#pragma omp atomic
      counts[i] += mine[i];
}

static void run (int p, long batches)
{
  unsigned long x = 271828183;
#pragma omp parallel num_threads(p)
#pragma omp master
  for (long k = 0; k < batches; k++)
    {
      double *v = batch[k % AHEAD];
      first (&x, v);
#pragma omp task firstprivate(v)
      second (v);
      if (k % AHEAD == AHEAD - 1)
        {
#pragma omp taskwait
        }
    }
}

int main (int argc, char **argv)
{
  int m = argument (argc, argv, 1, 24);
  int threads = argument (argc, argv, 2, 2), rounds = argument (argc, argv, 3, 5);
  if (m < 16 || m > 40 || threads < 1 || rounds < 1 || rounds > MOST)
    return 2;
  long batches = 1L << (m - 16);
  double one[MOST], two[MOST], t[MOST];
  unsigned long x = 271828183;
  memset (batch, 1, sizeof batch);
  for (int r = 0; r < MOST; r++)
    {
      double *v = batch[r % AHEAD], start = omp_get_wtime ();
      first (&x, v);
      one[r] = omp_get_wtime () - start;
      start = omp_get_wtime ();
      second (v);
      two[r] = omp_get_wtime () - start;
    }
  memset (counts, 0, sizeof counts);
  print_times ("first", 1, batches, one, MOST);
  print_times ("second", 1, batches, two, MOST);
  for (int p = 1; p <= threads; p++)
    {
      for (int r = 0; r < rounds; r++)
        {
          double start = omp_get_wtime ();
          run (p, batches);
          t[r] = omp_get_wtime () - start;
        }
      print_times ("time", p, batches, t, rounds);
    }
  double sum = 0;
  for (int i = 0; i < 10; i++)
    sum += counts[i];
  printf ("sum: %.17g\n", sum);
  return 0;
}
