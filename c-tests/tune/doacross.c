// Loops whose iterations wait for earlier ones, with schedule(runtime): a wavefront, and a chain of links
// that are some iterations long. Every iteration is executed once, behind those that it waits for, and a
// thread meets its own in order. Prints sums that do not depend on who executes what. Usage: doacross
// EXECUTIONS [N]
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define FAR 3
enum { INNER = 4 };

static long wrong;

static void check (int right)
{
  if (!right)
#pragma omp atomic
    wrong++;
}

int main (int argc, char **argv)
{
  int executions = argc > 1 ? atoi (argv[1]) : 10, n = argc > 2 ? atoi (argv[2]) : 40;
  long (*a)[INNER + 1] = calloc (n + 1, sizeof *a);
  long *chain = calloc (n + FAR, sizeof *chain);
  int *times = calloc (n, sizeof *times);
  unsigned long sum = 0;
  for (int e = 0; e < executions; e++)
    {
      for (int i = 0; i <= n; i++)
        a[i][0] = i + e;
      for (int j = 0; j <= INNER; j++)
        a[0][j] = j;
#pragma omp parallel
      {
        int last = 0;
#pragma omp for ordered(2) schedule(runtime)
        for (int i = 1; i <= n; i++)
          for (int j = 1; j <= INNER; j++)
            {
              check (i >= last);
              last = i;
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
              a[i][j] = (a[i - 1][j] + 3 * a[i][j - 1]) % 1000003;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(1) schedule(runtime)
        for (int i = 0; i < n; i++)
          {
#pragma omp ordered depend(sink : i - FAR)
            chain[i + FAR] = (chain[i] * 7 + a[i + 1][INNER] + i) % 1000033;
            times[i]++;
#pragma omp ordered depend(source)
          }
      }
      for (int i = 0; i < n; i++)
        sum = sum * 31 + a[i + 1][INNER] + chain[i + FAR];
    }
  for (int i = 0; i < n; i++)
    check (times[i] == executions);
  printf ("%lu %ld\n", sum, wrong);
  return 0;
}
