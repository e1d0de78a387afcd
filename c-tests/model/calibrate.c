// What the runtime costs on this machine: regions, barriers, chunks, point-to-point synchronisation, tasks,
// with one thread and more. Usage: calibrate THREADS ROUNDS
#include "measure.h"

static void region (int p, int n)
{
  for (int i = 0; i < n; i++)
    {
#pragma omp parallel num_threads(p)
      __asm__ volatile ("");
    }
}

static void barrier (int p, int n)
{
#pragma omp parallel num_threads(p)
  for (int i = 0; i < n; i++)
    {
#pragma omp barrier
    }
}

static void chunk (int p, int n)
{
#pragma omp parallel for num_threads(p) schedule(dynamic, 1)
  for (int i = 0; i < n; i++)
    __asm__ volatile ("");
}

// Every iteration waits for the one before it, which another thread has.
static void post (int p, int n)
{
#pragma omp parallel num_threads(p)
#pragma omp for ordered(1) schedule(static, 1)
  for (int i = 0; i < n; i++)
    {
#pragma omp ordered depend(sink : i - 1)
      __asm__ volatile ("");
#pragma omp ordered depend(source)
    }
}

static void task (int p, int n)
{
#pragma omp parallel num_threads(p)
#pragma omp master
  for (int i = 0; i < n; i++)
    {
#pragma omp task
      __asm__ volatile ("");
    }
}

static void measure (const char *name, void (*f) (int, int), int p, int n, int rounds)
{
  double t[MOST];
  f (p, n);
  for (int r = 0; r < rounds; r++)
    {
      double start = omp_get_wtime ();
      f (p, n);
      t[r] = (omp_get_wtime () - start) / n;
    }
  print_times (name, p, n, t, rounds);
}

int main (int argc, char **argv)
{
  int threads = argument (argc, argv, 1, 2), rounds = argument (argc, argv, 2, 15);
  if (threads < 1 || rounds < 1 || rounds > MOST)
    return 2;
  for (int p = 1; p <= threads; p = p < 4 ? p + 1 : p * 2)
    {
      measure ("region", region, p, 500, rounds);
      measure ("barrier", barrier, p, 500, rounds);
      measure ("chunk", chunk, p, 20000, rounds);
      measure ("post", post, p, 2000, rounds);
      measure ("task", task, p, 2000, rounds);
    }
  return 0;
}
