// Loops that have a flag instead of two versions: a large one, with an unknown function in it now and then,
// and one with exceptions.
#include <cmath>
#include <cstdio>
#include <vector>

enum { N = 120, M = 48 };
extern "C" double unknown (int i, double *x, double s); // station.c, built by gcc

static double a[N][M], c[N][24];
static double counts[N][4 * M];
static int order[M];
static std::vector<double> rows[N];

#define UPDATE(n) a[i][order[(k + n) % M]] = a[i][order[(k + n) % M]] * 0.5 + a[i][n] * 0.125 + n;
#define SIX(n) UPDATE (n) UPDATE (n + 1) UPDATE (n + 2) UPDATE (n + 3) UPDATE (n + 4) UPDATE (n + 5)

static void large (int r)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < N; i++)
    for (int k = 0; k < 8; k++)
      {
        SIX (0) SIX (6) SIX (12) SIX (18) SIX (24) SIX (30) SIX (36)
        for (int j = 0; j < M; j++)
          a[i][order[j]] = std::sqrt (a[i][order[j]] * a[i][j] + k);
        if (k == r % 40)
          a[i][r % M] += unknown (i, c[i], 1);
        SIX (42)
      }
}

// A function that saves for itself: how often its second loop is executed is counted in the smaller loop of
// its first one, a large one.
__attribute__ ((noinline)) void counted (int i, int r)
{
  int n = 0;
  for (int k = 0; k < 4; k++)
    {
      SIX (0) SIX (6) SIX (12) SIX (18) SIX (24) SIX (30) SIX (36)
      for (int j = 0; j < M; j++)
        {
          a[i][order[j]] = std::sqrt (a[i][order[j]] * a[i][j] + k + r);
          n += a[i][order[j]] > k + j * 0.5;
        }
      SIX (42)
    }
  for (int j = 0; j < n; j++)
    counts[i][j] = counts[i][j] * 0.5 + n;
}

static void with_exceptions (int r)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < N; i++)
    {
      std::vector<double> &x = rows[i], t (x.begin (), x.end ());
      for (int k = 0; k < M; k++)
        {
          std::vector<double> two (2, t[k] * 0.25);
          x[order[k]] = x[order[k]] * 0.5 + two[k % 2] + r;
          for (int j = 0; j < M; j++)
            x[order[j]] = std::sqrt (x[order[j]] * x[j] + k);
        }
    }
}

int main ()
{
  for (int k = 0; k < M; k++)
    order[k] = k * 35 % M;
  for (int i = 0; i < N; i++)
    {
      rows[i].resize (M);
      for (int k = 0; k < M; k++)
        a[i][k] = i % 17 + k * 0.5, rows[i][k] = i % 5 + k;
    }
  for (int r = 0; r < 80; r++)
    {
      large (r);
#pragma omp parallel for schedule(dynamic, 4)
      for (int i = 0; i < N; i++)
        counted (i, r);
      with_exceptions (r);
    }
  double s = 0;
  for (int i = 0; i < N; i++)
    {
      for (int k = 0; k < M; k++)
        s = s * 0.999 + a[i][k] + rows[i][k] * 0.5;
      for (int k = 0; k < 4 * M; k++)
        s = s * 0.999 + counts[i][k];
      s += c[i][i % 24];
    }
  printf ("%.17g %g\n", s, unknown (0, a[0], 0));
}
