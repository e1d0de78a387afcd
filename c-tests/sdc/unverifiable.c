// Loops whose chunks must not be executed again, or of which it is not known what they write.
#include <stdio.h>
#include <stdlib.h>

static long numbers[1000], pairs[1000], *blocks[1000], steps;

__attribute__ ((noinline)) void put (long *at, long v) { *at = v * 3; }

int main (void)
{
  long sum = 0, total = 0;
#pragma omp parallel for schedule(dynamic, 10)
  for (int i = 0; i < 1000; i++)
    put (&numbers[i], i); /* named */
#pragma omp parallel for schedule(dynamic, 10)
  for (int i = 0; i < 1000; i++)
    {
      blocks[i] = malloc (sizeof (long)); /* named */
      *blocks[i] = i;
    }
#pragma omp parallel for schedule(dynamic, 10)
  for (int i = 0; i < 1000; i++)
    {
#pragma omp atomic
      steps += i; /* named */
    }
#pragma omp parallel for ordered schedule(dynamic, 10)
  for (int i = 0; i < 1000; i++)
    {
#pragma omp ordered
      pairs[i] = i ? pairs[i - 1] + i : 0; /* named */
    }
  for (int i = 0; i < 1000; i++)
    sum += numbers[i] + *blocks[i] + pairs[i];
  printf ("%ld %ld %ld\n", sum, total, steps);
  return 0;
}
