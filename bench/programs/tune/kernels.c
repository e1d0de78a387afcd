// Loops whose best schedule differs: kernels for bench/tune.py. Each is executed again and again with
// schedule(runtime), so that an oracle can try every schedule by OMP_SCHEDULE, and a tuner can choose.
// Usage: kernels NAME SIZE EXECUTIONS; prints the seconds of all executions, of the latter half, a checksum.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n;
static double *data, *out;

static double burn (long k)
{
  double s = 0;
  for (long i = 1; i <= k; i++)
    s += 1.0 / (double) (i * i);
  return s;
}

static double mandelbrot (int row)
{
  double count = 0;
  for (int j = 0; j < n; j++)
    {
      double cr = -2 + 3.0 * j / n, ci = -1.2 + 2.4 * row / n, x = 0, y = 0;
      int k = 0;
      for (; k < 200 && x * x + y * y < 4; k++)
        {
          double t = x * x - y * y + cr;
          y = 2 * x * y + ci;
          x = t;
        }
      count += k;
    }
  return count;
}

static double triangle (int i) { return burn (i); }
static double upper (int i) { return burn (n - i); }
static double power (int i) { return burn ((long) (20.0 * n / (1 + i))); }
static double prefix (int i) { return burn (i < n / 8 ? 8 * n : n / 8); }
static double alternating (int i) { return burn (i % 2 ? 2 * n : n / 16); }
static double even (int i) { return burn (n / 4); }
static double blocks (int i) { return burn (i / (n / 8 + 1) % 2 ? 2 * n : n / 16); }
static double ends (int i) { return burn (i < n / 16 || i >= n - n / 16 ? 6 * n : n / 16); }
static double tiny (int i) { return data[i] * 2 + 1; }
static double memory (int i)
{
  double s = 0;
  for (int j = 0; j < n; j++)
    s += data[(size_t) i * n + j];
  return s;
}
static double single (int i) { return burn (i == n / 2 ? 20L * n : n / 8); }
static double wave (int i) { return burn ((long) (n / 2 * (1 + sin (i * 12.0 / n)))); }

static const struct { const char *name; double (*f) (int); } KERNELS[] = {
  { "mandelbrot", mandelbrot }, { "triangle", triangle }, { "upper", upper }, { "power", power },
  { "prefix", prefix }, { "alternating", alternating }, { "even", even }, { "blocks", blocks },
  { "ends", ends }, { "tiny", tiny }, { "memory", memory }, { "single", single },
  { "wave", wave },
};

int main (int argc, char **argv)
{
  if (argc < 4)
    {
      for (unsigned k = 0; k < sizeof KERNELS / sizeof *KERNELS; k++)
        printf ("%s ", KERNELS[k].name);
      puts ("phases nested");
      return argc > 1 ? 2 : 0;
    }
  n = atoi (argv[2]);
  int executions = atoi (argv[3]);
  data = malloc ((size_t) n * n * sizeof *data);
  out = calloc (n, sizeof *out);
  for (long i = 0; i < (long) n * n; i++)
    data[i] = i % 7;
  double (*f) (int) = NULL;
  for (unsigned k = 0; k < sizeof KERNELS / sizeof *KERNELS; k++)
    if (!strcmp (KERNELS[k].name, argv[1]))
      f = KERNELS[k].f;
  int phases = !strcmp (argv[1], "phases"), nested = !strcmp (argv[1], "nested");
  if (!f && !phases && !nested)
    return 2;
  double start = omp_get_wtime (), half = start;
  for (int e = 0; e < executions; e++)
    {
      if (e == executions / 2)
        half = omp_get_wtime ();
      if (nested)
        {
          // An outer loop of rows, an inner one whose length depends on the row, which one thread executes.
#pragma omp parallel for schedule(runtime)
          for (int i = 0; i < n; i++)
            {
              double s = 0;
              for (int j = 0; j <= i; j++)
                s += burn (j % 32);
              out[i] = s;
            }
        }
      else
        {
          // Two phases: the cost turns round in the middle of the run.
          double (*now) (int) = !phases ? f : e < executions / 2 ? triangle : upper;
#pragma omp parallel for schedule(runtime)
          for (int i = 0; i < n; i++)
            out[i] = now (i);
        }
    }
  double end = omp_get_wtime (), sum = 0;
  for (int i = 0; i < n; i++)
    sum += out[i];
  printf ("%.9g %.9g %.15g\n", end - start, end - half, sum);
  return 0;
}
