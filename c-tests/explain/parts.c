// The second part of each iteration, behind output, updates bit fields, whose old values cannot be saved.
#include <stdio.h>

struct flags
{
  unsigned used : 5, value : 27;
};

static struct flags of[64];

int main (void)
{
#pragma omp parallel for
  for (int i = 0; i < 64; i++)
    {
      fputc ('.', stderr);
      for (int k = 0; k < 100000; k++)
        of[i].value = of[i].value * 3 + k % (i + 7);
    }
  unsigned sum = 0;
  for (int i = 0; i < 64; i++)
    sum = sum * 7 + of[i].value;
  printf ("%u\n", sum);
}
