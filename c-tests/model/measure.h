// What the programs of `promp model` share: times of repetitions, one line a measurement.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

// "name threads parameter: time time …"
static void print_times (const char *name, int threads, long parameter, const double *t, int n)
{
  printf ("%s %d %ld:", name, threads, parameter);
  for (int i = 0; i < n; i++)
    printf (" %.9g", t[i]);
  printf ("\n");
  fflush (stdout);
}

static long argument (int argc, char **argv, int i, long otherwise)
{
  return argc > i ? atol (argv[i]) : otherwise;
}
