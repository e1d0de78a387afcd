// Serial code for `gcc -O2 -ftree-parallelize-loops=2`: twelve loop nests from tiny to large, of which the
// compiler makes regions. Usage: serial REPETITIONS [NEST]; without arguments the nests' names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4000
#define M 300
#define LONG 200000
static double a[N], b[N], c[N];
static double m[M][M], q[M][M], turned[M][M];
static unsigned u[LONG], v[LONG];
static double x[LONG], y[LONG];
static unsigned long s;

#define APART __attribute__ ((noinline, noclone))

APART static void tiny (int n)
{
  for (int i = 0; i < n; i++)
    a[i] = b[i] * 2 + c[i];
}

APART static void few (int n)
{
  for (int i = 0; i < n; i++)
    c[i] = c[i] * 0.5 + 1;
}

APART static void small (int n)
{
  for (int i = 0; i < n; i++)
    b[i] = a[i] / (1 + c[i] * c[i]);
}

APART static void polynomial (int n)
{
  for (int i = 0; i < n; i++)
    {
      double t = b[i];
      a[i] = ((((0.1 * t + 0.2) * t - 0.3) * t + 0.4) * t - 0.5) * t + 0.6;
    }
}

APART static void stencil (int n)
{
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      q[i][j] = 0.25 * (m[i - 1][j] + m[i + 1][j] + m[i][j - 1] + m[i][j + 1]);
}

APART static void copy (int n)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      m[i][j] = q[i][j];
}

APART static void transpose (int n)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      turned[i][j] = m[j][i];
}

APART static void product (int n)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      {
        double t = 0;
        for (int k = 0; k < n; k++)
          t += m[i][k] * turned[k][j];
        q[i][j] = t * 1e-3;
      }
}

APART static void large (int n)
{
  for (int i = 0; i < n; i++)
    v[i] = u[i] * 2654435761u ^ u[i] >> 7;
}

APART static void scaled (int n)
{
  for (int i = 0; i < n; i++)
    y[i] = x[i] * 3 + y[i] * 0.25;
}

APART static void divided (int n)
{
  for (int i = 0; i < n; i++)
    x[i] = (y[i] + 1) / (x[i] * x[i] + 2);
}

APART static void sum (int n)
{
  unsigned long t = 0;
  for (int i = 0; i < n; i++)
    t += v[i] & 1023;
  s += t;
}

static const struct { const char *name; void (*f) (int); int n; } NESTS[] = {
  { "tiny", tiny, 100 }, { "few", few, 1000 }, { "small", small, N }, { "polynomial", polynomial, N },
  { "stencil", stencil, M }, { "copy", copy, M }, { "transpose", transpose, M }, { "product", product, 80 },
  { "large", large, LONG }, { "scaled", scaled, LONG }, { "divided", divided, LONG }, { "sum", sum, LONG },
};

int main (int argc, char **argv)
{
  enum { ALL = sizeof NESTS / sizeof *NESTS };
  if (argc < 2)
    {
      for (int k = 0; k < ALL; k++)
        printf ("%s ", NESTS[k].name);
      return 0;
    }
  int repetitions = atoi (argv[1]);
  const char *only = argc > 2 ? argv[2] : NULL;
  for (int i = 0; i < N; i++)
    {
      b[i] = i % 17;
      c[i] = i % 5;
    }
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++)
      m[i][j] = q[i][j] = (i * j) % 11;
  for (int i = 0; i < LONG; i++)
    {
      u[i] = i;
      x[i] = i % 13;
    }
  for (int r = 0; r < repetitions; r++)
    for (int k = 0; k < ALL; k++)
      if (!only || !strcmp (only, NESTS[k].name))
        NESTS[k].f (NESTS[k].n);
  double t = 0;
  for (int i = 0; i < N; i++)
    t += a[i] + b[i] + x[i] + y[i];
  for (int i = 0; i < M; i++)
    t += m[i][i] + turned[i][i];
  printf ("%.12g %lu\n", t, s);
  return 0;
}
