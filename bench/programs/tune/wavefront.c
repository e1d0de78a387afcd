// A Gauss-Seidel wavefront (doacross), for bench/tune.py. Usage: wavefront SIZE EXECUTIONS
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main (int argc, char **argv)
{
  int n = argc > 1 ? atoi (argv[1]) : 128, executions = argc > 2 ? atoi (argv[2]) : 20;
  int tiles = 8, width = n / tiles > 0 ? n / tiles : 1;
  double (*a)[n + 2] = calloc (n + 2, sizeof *a);
  for (int i = 0; i < n + 2; i++)
    a[i][0] = a[0][i] = 1;
  double start = omp_get_wtime (), half = start;
  for (int e = 0; e < executions; e++)
    {
      if (e == executions / 2)
        half = omp_get_wtime ();
#pragma omp parallel for ordered(2) schedule(static, 1)
      for (int i = 1; i <= n; i++)
        for (int t = 0; t < tiles; t++)
          {
#pragma omp ordered depend(sink : i - 1, t)
            for (int j = t * width + 1; j <= (t + 1) * width && j <= n; j++)
              a[i][j] = 0.25 * (a[i - 1][j] + a[i][j - 1] + a[i + 1][j] + a[i][j + 1]);
#pragma omp ordered depend(source)
          }
    }
  double end = omp_get_wtime (), sum = 0;
  for (int i = 0; i < n + 2; i++)
    sum += a[i][(i * 7) % (n + 2)];
  printf ("%.9g %.9g %.15g\n", end - start, end - half, sum);
}
