// Loops that a tuner has something to choose of, executed again and again: results that do not depend on
// the choice, and what schedules promise whatever is chosen: every iteration once, chunks of dynamic loops
// in one piece, a thread's chunks in order where the schedule is monotonic, the last iteration's
// lastprivate. Usage: loops EXECUTIONS [WORK]
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 602, CHUNK = 7 };

static long work;
static int owner[N], times[N];
static int faults;

static long cost (long i)
{
  long s = 0;
  for (long k = 0; k < (i < N / 2 ? work / 8 : work); k++)
    s += (i ^ k) & 3;
  return s;
}

static void check (const char *what, int chunk)
{
  for (int i = 0; i < N; i++)
    {
      if (times[i] != 1 || (i % chunk && owner[i] != owner[i - 1]))
        {
          if (faults++ < 5)
            printf ("%s: iteration %d: %d times, by %d, the one before by %d\n", what, i, times[i], owner[i],
                    owner[i ? i - 1 : 0]);
        }
      times[i] = 0;
    }
}

static void took (long i)
{
  owner[i] = omp_get_thread_num ();
#pragma omp atomic
  times[i]++;
}

int main (int argc, char **argv)
{
  int executions = argc > 1 ? atoi (argv[1]) : 20;
  work = argc > 2 ? atol (argv[2]) : 300;
  long sum = 0, last = 0, total = 0;
  for (int e = 0; e < executions; e++)
    {
#pragma omp parallel for schedule(dynamic, CHUNK) reduction(+ : sum)
      for (long i = 0; i < N; i++)
        {
          took (i);
          sum += cost (i);
        }
      check ("dynamic", CHUNK);
#pragma omp parallel
      {
#pragma omp for schedule(guided) reduction(+ : sum) lastprivate(last) nowait
        for (long i = 0; i < N; i++)
          {
            took (i);
            sum += cost (i);
            last = i * (e + 1);
          }
#pragma omp barrier
#pragma omp single
        {
          check ("guided", 1);
          total += last;
        }
#pragma omp for schedule(runtime)
        for (long i = N - 1; i >= 0; i--)
          took (i);
#pragma omp single
        check ("runtime", 1);
        long before = -1;
#pragma omp for schedule(monotonic : dynamic, 3)
        for (long i = 0; i < N; i++)
          {
            took (i);
            if (i <= before)
#pragma omp atomic
              faults++;
            before = i;
          }
#pragma omp single
        check ("monotonic", 3);
#pragma omp for schedule(auto)
        for (long i = 0; i < N; i++)
          {
            took (i);
            cost (i);
          }
#pragma omp single
        check ("auto", 1);
      }
      // Trip counts of different classes at one call site.
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
      for (long i = 0; i < (e % 3 == 0 ? 3 : N); i++)
        sum += i;
    }
  printf ("%ld %ld %d faults\n", sum, total, faults);
  return faults != 0;
}
