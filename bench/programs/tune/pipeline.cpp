// A pipeline of two stages in C++, for bench/tune.py: the first makes blocks in turn, the second, in tasks,
// works on each as it comes. Usage: pipeline SIZE EXECUTIONS
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <vector>

int main (int argc, char **argv)
{
  int n = argc > 1 ? std::atoi (argv[1]) : 128, executions = argc > 2 ? std::atoi (argv[2]) : 20;
  enum { BLOCKS = 16 };
  std::vector<std::vector<unsigned long>> block (BLOCKS, std::vector<unsigned long> (n));
  unsigned long sums[BLOCKS] = {}, seed = 1;
  double start = omp_get_wtime (), half = start;
  for (int e = 0; e < executions; e++)
    {
      if (e == executions / 2)
        half = omp_get_wtime ();
#pragma omp parallel
#pragma omp single
      for (int b = 0; b < BLOCKS; b++)
        {
          for (int i = 0; i < n; i++)
            block[b][i] = seed = seed * 6364136223846793005UL + 1442695040888963407UL;
#pragma omp task firstprivate(b) shared(block, sums)
          for (int i = 0; i < n; i++)
            sums[b] = sums[b] * 31 + (block[b][i] >> 33) % 1000;
        }
    }
  double end = omp_get_wtime ();
  unsigned long sum = 0;
  for (unsigned long s : sums)
    sum ^= s;
  std::printf ("%.9g %.9g %lu\n", end - start, end - half, sum);
}
