// Large arrays of a region's or a task's own. Usage: private KIND KIB; each chunk takes some milliseconds,
// and changes what the chunks before it have left in the array.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 8 };
static double sum[CHUNKS];

static double worked(double *x, long n, int k) {
  double s = 0;
  for (long r = 0; r < 8000000 / n + 2; r++)
    for (long i = 0; i < n; i++) {
      x[i] = x[i] * 0.5 + k + i % 7;
      s += x[i];
    }
  return s;
}

static void fill(double *x, long n) {
  for (long i = 0; i < n; i++) x[i] = i % 11;
}

static void is_static(long n) {
#pragma omp parallel num_threads(2)
  {
    double x[n];
    fill(x, n);
#pragma omp for schedule(static)
    for (int k = 0; k < CHUNKS; k++) sum[k] = worked(x, n, k);
  }
}

static void is_dynamic(long n) {
#pragma omp parallel num_threads(2)
  {
    double *x = __builtin_alloca(n * sizeof *x);
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < CHUNKS; k++) {
      fill(x, n);
      sum[k] = worked(x, n, k);
    }
  }
}

static void in_parts(long n) {
#pragma omp parallel num_threads(2)
  {
    double x[n], all = 0;
    fill(x, n);
    for (int k = 0; k < CHUNKS; k++) {
      all += worked(x, n, k);
#pragma omp barrier
    }
#pragma omp for schedule(static, 1)
    for (int k = 0; k < 2; k++) sum[k] = all;
  }
}

struct large { double x[40000]; };

static void of_tasks(long n) {
  struct large given;
  fill(given.x, 40000);
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int k = 0; k < CHUNKS; k++)
#pragma omp task firstprivate(given)
    sum[k] = worked(given.x, n < 40000 ? n : 40000, k);
}

int main(int argc, char **argv) {
  long n = argc > 2 ? atol(argv[2]) * 128 : 65536;
  const char *kind = argc > 1 ? argv[1] : "static";
  if (!strcmp(kind, "static")) is_static(n);
  else if (!strcmp(kind, "dynamic")) is_dynamic(n);
  else if (!strcmp(kind, "parts")) in_parts(n);
  else of_tasks(n);
  for (int k = 0; k < CHUNKS; k++) printf("%.17g\n", sum[k]);
}
