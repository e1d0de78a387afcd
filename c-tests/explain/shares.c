// Of each iteration's work so many percent are in a call of which nothing is known (spends.c).
#include <stdio.h>
#include <stdlib.h>

double spends (double x, int times);

static double at[64][32];

int main (int argc, char **argv)
{
  int lost = argc > 1 ? atoi (argv[1]) : 50;
  for (int round = 0; round < 40; round++)
    {
#pragma omp parallel for
      for (int i = 0; i < 64; i++)
        {
          double x = at[i][0];
          for (int k = 0; k < (100 - lost) * 50; k++)
            x = x * 0.5 + i;
          for (int k = 0; k < 32; k++)
            at[i][k] = at[i][k] * 0.5 + x;
          at[i][1] += spends (x, lost * 50);
        }
    }
  double sum = 0;
  for (int i = 0; i < 64; i++)
    for (int k = 0; k < 32; k++)
      sum = sum * 0.75 + at[i][k];
  printf ("%.17g\n", sum);
}
