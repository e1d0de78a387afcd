// Neighbours of a power-law graph in C++, for bench/tune.py. Usage: graph SIZE EXECUTIONS
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <vector>

int main (int argc, char **argv)
{
  int n = argc > 1 ? std::atoi (argv[1]) : 1000, executions = argc > 2 ? std::atoi (argv[2]) : 20;
  std::vector<std::vector<int>> edges (n);
  unsigned long seed = 1;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 20 * n / (i + 20) + 2; k++)
      edges[i].push_back ((seed = seed * 6364136223846793005UL + 1442695040888963407UL) >> 33 & 0x7fffffff);
  std::vector<double> rank (n, 1.0), next (n);
  double start = omp_get_wtime (), half = start;
  for (int e = 0; e < executions; e++)
    {
      if (e == executions / 2)
        half = omp_get_wtime ();
#pragma omp parallel for schedule(runtime)
      for (int i = 0; i < n; i++)
        {
          double s = 0;
          for (int j : edges[i])
            s += rank[j % n] / (1 + (double) edges[j % n].size ());
          next[i] = 0.15 + 0.85 * s;
        }
      rank.swap (next);
    }
  double end = omp_get_wtime (), sum = 0;
  for (double r : rank)
    sum += r;
  std::printf ("%.9g %.9g %.15g\n", end - start, end - half, sum);
}
