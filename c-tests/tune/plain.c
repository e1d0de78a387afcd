// A short region that GCC makes of a serial loop (-ftree-parallelize-loops). Usage: plain EXECUTIONS [FILE
// [KIND]]. Prints a sum, how often the loop's function was called, and how often its level was wrong; to
// stderr, how many executions were no regions for the runtime. The compiler is told that the function depends
// on nothing but its argument.
// With FILE, the function waits in one of the latter until the file is there; with KIND its thread fails then
// (enum promp_fault), once.
#include "promp.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 400 };
static double a[N], b[N];
static long calls, wrong, outside;
static int execution, waiting;
static const char *file;
static int kind;

#define APART __attribute__ ((noinline, noclone, noipa))

// Is this execution one that has not been counted as a region?
static int is_outside (void)
{
  struct promp_statistics s = { 0 };
  if (!promp_present ())
    return 0;
  promp_stats (&s);
  return s.regions == (uint64_t) execution;
}

APART static void stay (void)
{
  waiting = 2;
  fprintf (stderr, "inside\n");
  while (access (file, F_OK))
    usleep (1000);
  if (kind && !promp_failures (NULL, 0))
    promp_fail (0, kind);
  fprintf (stderr, "on\n");
}

APART __attribute__ ((const)) static double twice (double x)
{
  long call = __atomic_fetch_add (&calls, 1, __ATOMIC_RELAXED);
  if (call % 16 == 0
      && (omp_get_level () != 1 || omp_get_ancestor_thread_num (0) != 0
          || omp_get_ancestor_thread_num (1) != omp_get_thread_num ()
          || omp_get_team_size (1) != omp_get_num_threads () || omp_get_team_size (2) != -1))
    __atomic_fetch_add (&wrong, 1, __ATOMIC_RELAXED);
  // Once in each execution.
  if (call % N == N / 2 && is_outside ())
    {
      outside++;
      if (waiting == 1)
        stay ();
    }
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
  file = argc > 2 ? argv[2] : NULL;
  kind = argc > 3 ? atoi (argv[3]) : 0;
  double sum = 0;
  for (execution = 0; execution < executions; execution++)
    {
      if (file && execution == executions / 2)
        waiting = 1;
      b[execution % N] += execution % 5;
      loop (N);
      sum += a[(execution * 7) % N];
      wrong += omp_get_level () != 0;
    }
  printf ("%.17g %ld %ld\n", sum, calls, wrong);
  fprintf (stderr, "outside: %ld of %d\n", outside, executions);
  return 0;
}
