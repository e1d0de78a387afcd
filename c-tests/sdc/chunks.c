// Loops whose chunks can be executed again: a stencil from one array to another, updates in place (their
// old values are saved), a dynamic schedule, rows of a matrix, a reduction, sections. Prints checksums of
// everything. With a third argument, also which CPUs the process may use at its end.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sum (const void *p, size_t bytes)
{
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ ((const unsigned char *) p)[i]) * 1099511628211u;
  return h;
}

static double a[20000], b[20000];
static double m[300][200];
static long count[64];

int main (int argc, char **argv)
{
  int n = argc > 1 ? atoi (argv[1]) : 2000, steps = argc > 2 ? atoi (argv[2]) : 20;
  long total = 0;
  double parts[3] = { 0 };
  for (int i = 0; i < n; i++)
    a[i] = i % 17, b[i] = 0;
  for (int t = 0; t < steps; t++)
    {
#pragma omp parallel for
      for (int i = 1; i < n - 1; i++)
        b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1];
#pragma omp parallel for schedule(dynamic, 50)
      for (int i = 0; i < n; i++)
        a[i] += 0.5 * b[i] + t;
#pragma omp parallel for schedule(dynamic, 7)
      for (int i = 0; i < 300; i++)
        for (int j = 0; j < 200; j++)
          m[i][j] = m[i][j] * 0.5 + i + j * t;
#pragma omp parallel for reduction(+ : total) schedule(static, 100)
      for (int i = 0; i < n; i++)
        total += (long) a[i] * i;
#pragma omp parallel for
      for (int i = 0; i < 64; i++)
        if (i % 3 != t % 3)
          count[i] += i;
#pragma omp parallel sections
      {
#pragma omp section
        parts[0] = parts[0] / 2 + a[1];
#pragma omp section
        parts[1] = parts[1] / 2 + a[2];
#pragma omp section
        parts[2] = parts[2] / 2 + a[3];
      }
    }
  printf ("%016llx %016llx %016llx %ld %016llx %016llx\n", (unsigned long long) sum (a, sizeof a),
          (unsigned long long) sum (b, sizeof b), (unsigned long long) sum (m, sizeof m), total,
          (unsigned long long) sum (count, sizeof count), (unsigned long long) sum (parts, sizeof parts));
  if (argc > 3)
    {
      // The initial thread's, and that of a thread of the team.
      cpu_set_t mine, other;
      sched_getaffinity (0, sizeof mine, &mine);
#pragma omp parallel num_threads(2)
      {
        cpu_set_t set;
        sched_getaffinity (0, sizeof set, &set);
#pragma omp critical
        if (CPU_COUNT (&set) >= 0)
          other = set;
      }
      for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET (c, &mine) || CPU_ISSET (c, &other))
          fprintf (stderr, "may use %d\n", c);
    }
  return 0;
}
