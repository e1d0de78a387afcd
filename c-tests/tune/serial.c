// Serial code for `gcc -O2 -ftree-parallelize-loops=2`: loop nests from tiny to large, which become regions.
// regions of.
// Usage: serial REPETITIONS
#include <stdio.h>
#include <stdlib.h>

#define N 4000
static double a[N], b[N], c[N];
static double m[300][300], q[300][300];
static unsigned u[200000], v[200000];

#define APART __attribute__ ((noinline, noclone))

APART static void tiny (int n)
{
  for (int i = 0; i < n; i++)
    a[i] = b[i] * 2 + c[i];
}

APART static void small (int n)
{
  for (int i = 0; i < n; i++)
    b[i] = a[i] / (1 + c[i] * c[i]);
}

APART static void matrix (int n)
{
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      q[i][j] = 0.25 * (m[i - 1][j] + m[i + 1][j] + m[i][j - 1] + m[i][j + 1]);
}

APART static void back (int n)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      m[i][j] = q[i][j];
}

APART static void large (int n)
{
  for (int i = 0; i < n; i++)
    v[i] = u[i] * 2654435761u ^ u[i] >> 7;
}

APART static unsigned long sum (int n)
{
  unsigned long s = 0;
  for (int i = 0; i < n; i++)
    s += v[i] & 1023;
  return s;
}

int main (int argc, char **argv)
{
  int repetitions = argc > 1 ? atoi (argv[1]) : 20;
  for (int i = 0; i < N; i++)
    {
      b[i] = i % 17;
      c[i] = i % 5;
    }
  for (int i = 0; i < 300; i++)
    for (int j = 0; j < 300; j++)
      m[i][j] = q[i][j] = (i * j) % 11;
  for (int i = 0; i < 200000; i++)
    u[i] = i;
  unsigned long s = 0;
  for (int r = 0; r < repetitions; r++)
    {
      tiny (N / 4);
      small (N);
      matrix (300);
      back (300);
      large (200000);
      s += sum (200000);
    }
  double x = 0;
  for (int i = 0; i < N; i++)
    x += a[i] + b[i];
  for (int i = 0; i < 300; i++)
    x += m[i][i];
  printf ("%.12g %lu\n", x, s);
  return 0;
}
