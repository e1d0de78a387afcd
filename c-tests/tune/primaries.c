// Two threads of the program's own execute a short region that GCC makes of a serial loop
// (-ftree-parallelize-loops), and then one alone. Usage: primaries EXECUTIONS. Prints a sum; to stderr, how
// many regions the runtime has counted.
#include "promp.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400 };
static double a[2][N];
static int executions;

static __attribute__ ((noipa)) void halve (double *x, int n)
{
  for (int i = 0; i < n; i++)
    x[i] = x[i] * 0.5 + i;
}

static void *work (void *x)
{
  for (int k = 0; k < executions; k++)
    halve (x, N);
  return NULL;
}

int main (int argc, char **argv)
{
  executions = argc > 1 ? atoi (argv[1]) : 100;
  pthread_t other;
  if (pthread_create (&other, NULL, work, a[1]))
    return 1;
  work (a[0]);
  pthread_join (other, NULL);
  work (a[0]);
  double sum = 0;
  for (int i = 0; i < N; i++)
    sum += a[0][i] * i + a[1][i];
  struct promp_statistics s = { 0 };
  if (promp_present ())
    promp_stats (&s);
  printf ("%.17g\n", sum);
  fprintf (stderr, "regions: %llu\n", (unsigned long long) s.regions);
  return 0;
}
