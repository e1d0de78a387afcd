// A short region that GCC makes of a serial loop (-ftree-parallelize-loops). Usage: plain EXECUTIONS. Prints
// a sum and how often the loop's function was called; to stderr, how often outside of all regions. The
// compiler is told that the function depends on nothing but its argument.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400 };
static double a[N], b[N];
static long outside, within;

#define APART __attribute__ ((noinline, noclone, noipa))

APART __attribute__ ((const)) static double twice (double x)
{
  __atomic_fetch_add (omp_get_level () ? &within : &outside, 1, __ATOMIC_RELAXED);
  return 2 * x;
}

APART static void loop (int n)
{
  for (int i = 0; i < n; i++)
    a[i] = twice (b[i]) + 1;
}

int main (int argc, char **argv)
{
  int executions = argc > 1 ? atoi (argv[1]) : 100;
  double sum = 0;
  for (int e = 0; e < executions; e++)
    {
      b[e % N] += e % 5;
      loop (N);
      sum += a[(e * 7) % N];
    }
  printf ("%.17g %ld\n", sum, outside + within);
  fprintf (stderr, "outside: %ld of %ld\n", outside, outside + within);
  return 0;
}
