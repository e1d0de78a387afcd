// Loops that are worth comparing, each executed a few times, and what can stand against going back to their
// beginning. What it prints is the same however often that is done: every iteration counts once, memory that
// is allocated in a loop is there once, and so is what is written.
// Usage: exact EXECUTIONS plain|writes|notes|forks|child|nested
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { N = 128, WORK = 100000 };

static long executed, total;
static char *made[N];

// Tens of microseconds; the second half takes more.
static long cost (long i)
{
  long s = 0;
  for (long k = 0; k < (i < N / 2 ? WORK / 4 : WORK); k++)
    s += (i ^ k) & 3;
  return s;
}

static void took (long i, long s)
{
#pragma omp atomic
  executed++;
#pragma omp atomic
  total += s;
  char *had = made[i];
  made[i] = malloc (16 + 40 * i);
  snprintf (made[i], 16, "%ld", had ? atol (had) + 1 : 1);
  free (had);
}

int main (int argc, char **argv)
{
  int executions = argc > 1 ? atoi (argv[1]) : 2;
  const char *mode = argc > 2 ? argv[2] : "plain";
  int writes = !strcmp (mode, "writes"), notes = !strcmp (mode, "notes"), forks = !strcmp (mode, "forks");
  // A child that is there as long as its parent.
  if (!strcmp (mode, "child") && fork () == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      for (;;)
        pause ();
    }
  if (!strcmp (mode, "nested"))
    omp_set_max_active_levels (2);
  for (int e = 0; e < executions; e++)
    {
#pragma omp parallel
      {
#pragma omp for schedule(dynamic, 16)
        for (long i = 0; i < N; i++)
          {
            took (i, cost (i));
            if (i == N / 2 && writes && write (1, "one line\n", 9) != 9)
              abort ();
            if (i == N / 2 && notes)
              fprintf (stderr, "note %d\n", e);
            if (i == N / 2 && forks && system ("true") != 0)
              abort ();
          }
#pragma omp for schedule(guided, 4) nowait
        for (long i = 0; i < N; i++)
          took (i, cost (i));
      }
      if (!strcmp (mode, "nested"))
#pragma omp parallel for num_threads(2) schedule(static, 1)
        for (int k = 0; k < 2; k++)
          {
#pragma omp parallel for num_threads(2) schedule(dynamic, 8)
            for (long i = k; i < N; i += 2)
              took (i, cost (i));
          }
      printf ("%d: %ld executed, %ld\n", e, executed, total);
      if (writes)
        fflush (stdout);
    }
  long times = 0;
  for (int i = 0; i < N; i++)
    times += atol (made[i]);
  printf ("%ld %ld %ld\n", executed, times, total);
  return 0;
}
