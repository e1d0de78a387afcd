// Static loops that a tuner may deal in another way, and such where a program can count on who executes
// what: results are those of one thread. Functions `free_…` are of the first kind, `tied_…` of the second.
// Usage: static EXECUTIONS [WORK]
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 600, ROW = 16 };

static long a[N], b[N], c[N], bins[64];
static double x[N], grid[N][ROW];
static struct { long first, second; } pair[N];
static long work;

/// Heavier the further behind.
static long cost (long i)
{
  long s = 0;
  for (long k = 0; k < work * i / N; k++)
    s += (i ^ k) & 3;
  return s;
}

static void free_update (void)
{
#pragma omp parallel for schedule(static)
  for (int i = 0; i < N; i++)
    a[i] += cost (i);
}

static long free_sum (void)
{
  long s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < N; i++)
    s += cost (i) + a[i];
  return s;
}

static void free_chunks (void)
{
#pragma omp parallel for schedule(static, 3)
  for (int i = 0; i < N; i++)
    pair[i].first = pair[i].second + cost (i);
}

static void free_rows (void)
{
#pragma omp parallel for schedule(static)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < ROW; j++)
      grid[i][j] = grid[i][j] * 0.5 + j + (double) cost (i);
}

static __attribute__ ((noinline)) void free_pointers (long *to, const long *from, int n)
{
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; i++)
    to[i] = to[i] / 2 + from[i] + cost (i);
}

/// The second loop goes on with what the first has done; but what they write is apart from each other.
static void free_chain (void)
{
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < N; i++)
      a[i] += cost (i);
#pragma omp for schedule(static) nowait
    for (int i = 0; i < N; i++)
      b[i] += cost (N - i);
  }
}

static void free_behind_barrier (void)
{
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int i = 0; i < N; i++)
      a[i] += cost (i);
#pragma omp for schedule(static)
    for (int i = 0; i < N; i++)
      b[i] += a[N - 1 - i];
  }
}

static void tied_chain (void)
{
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < N; i++)
      a[i] += cost (i);
#pragma omp for schedule(static) nowait
    for (int i = 0; i < N; i++)
      b[i] += a[i];
  }
}

/// The same loop again and again without a barrier.
static void tied_repetition (void)
{
#pragma omp parallel
  for (int k = 0; k < 3; k++)
#pragma omp for schedule(static) nowait
    for (int i = 0; i < N; i++)
      c[i] = c[i] * 3 + k + cost (i) % 2;
}

/// Each bin is of one thread.
static void tied_bins (int threads)
{
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int i = 0; i < N; i++)
    bins[i % threads] = bins[i % threads] * 3 + i + cost (i) % 2;
}

/// A thread goes on with its own part.
static void tied_part_before (void)
{
#pragma omp parallel
  {
    int p = omp_get_num_threads (), t = omp_get_thread_num ();
    int q = N / p, rest = N % p, lo = t * q + (t < rest ? t : rest), hi = lo + q + (t < rest);
    for (int i = lo; i < hi; i++)
      c[i] = c[i] * 5 + i;
#pragma omp for schedule(static)
    for (int i = 0; i < N; i++)
      c[i] = c[i] * 3 + cost (i) % 2;
  }
}

static void tied_part_behind (void)
{
#pragma omp parallel
  {
    int p = omp_get_num_threads (), t = omp_get_thread_num ();
#pragma omp for schedule(static, 1) nowait
    for (int i = 0; i < N; i++)
      c[i] = c[i] * 3 + cost (i) % 2;
    for (int i = t; i < N; i += p)
      c[i] = c[i] * 5 + i;
  }
}

/// Elements that iterations of the same chunk share.
static void tied_groups (void)
{
#pragma omp parallel for schedule(static, 6)
  for (int i = 0; i < N; i++)
    c[i / 6] = c[i / 6] * 3 + cost (i) % 2;
}

/// Sums of floating-point numbers are rounded in the order that the schedule gives.
static double tied_sum (void)
{
  double s = 0;
#pragma omp parallel for schedule(static) reduction(+ : s) num_threads(2)
  for (int i = 0; i < N; i++)
    s += x[i] / 3 + (double) cost (i);
  return s;
}

/// Other code of the region may have done what the loop goes on with.
__attribute__ ((noinline)) static void tied_orphan (void)
{
#pragma omp for schedule(static) nowait
  for (int i = 0; i < N; i++)
    c[i] = c[i] * 3 + cost (i) % 2;
}

static unsigned long hash (const void *of, unsigned long bytes)
{
  unsigned long h = 14695981039346656037u;
  for (const unsigned char *p = of; bytes; bytes--)
    h = (h ^ *p++) * 1099511628211u;
  return h;
}

int main (int argc, char **argv)
{
  int executions = argc > 1 ? atoi (argv[1]) : 30;
  work = argc > 2 ? atol (argv[2]) : 300;
  long sum = 0;
  double real = 0;
  for (int i = 0; i < N; i++)
    x[i] = 1.0 / (i + 1);
  for (int e = 0; e < executions; e++)
    {
      free_update ();
      sum += free_sum ();
      free_chunks ();
      free_rows ();
      free_pointers (b, a, N);
      free_chain ();
      free_behind_barrier ();
      tied_chain ();
      tied_repetition ();
      tied_bins (2);
      tied_part_before ();
      tied_part_behind ();
      tied_groups ();
      real += tied_sum ();
#pragma omp parallel
      {
        tied_orphan ();
        tied_orphan ();
      }
    }
  printf ("sum %ld real %a a %lx b %lx c %lx bins %lx grid %lx pair %lx\n", sum, real, hash (a, sizeof a),
          hash (b, sizeof b), hash (c, sizeof c), hash (bins, sizeof bins), hash (grid, sizeof grid),
          hash (pair, sizeof pair));
  return 0;
}
