// Kernels and write-backs in loops that are tested first, nested loops, switches, and where control leaves a
// structure early. Comments as in sections.c. Prints a checksum.
#include <stdio.h>

static double a[64];
static int steps = 3;

// A kernel.
#define K(x) for (int i = 0; i < 64; i++) a[i] = a[i] * 0.5 + (x)

__attribute__ ((noipa)) static void tested_first (int n)
{
#pragma omp target data map(tofrom : a)
  {
    for (int t = 0; t < n; t++) /* begins */
      {
#pragma omp target
        K (1);
#pragma omp target /* ends */
        K (2);
      }
  }
}

__attribute__ ((noipa)) static void nested (int n)
{
#pragma omp target data map(tofrom : a)
  {
    for (int s = 0; s < n; s++) /* begins */
      for (int t = 0; t < n; t++)
        {
#pragma omp target /* ends */
          K (3);
        }
  }
}

__attribute__ ((noipa)) static void cut_outside (int n)
{
#pragma omp target data map(tofrom : a)
  {
    for (int s = 0; s < n; s++)
      {
        for (int t = 0; t < n; t++) /* begins */
          {
#pragma omp target /* ends */
            K (4);
          }
#pragma omp target update from(a)
      }
  }
}

__attribute__ ((noipa)) static void in_both_branches (int c)
{
#pragma omp target data map(tofrom : a)
  {
#pragma omp target /* begins */
    K (5);
    if (c)
      {
#pragma omp target
        K (6);
      }
    else
      {
#pragma omp target
        K (7);
      }
#pragma omp target /* ends */
    K (8);
  }
}

__attribute__ ((noipa)) static void in_a_switch (int c)
{
#pragma omp target data map(tofrom : a)
  {
    switch (c)
      {
      case 0:
#pragma omp target /* begins, ends */
        K (9);
        break;
      case 1:
#pragma omp target /* begins, ends */
        K (10);
        // falls through
      case 5:
#pragma omp target /* begins, ends */
        K (11);
        break;
      default:
        {
#pragma omp target update from(a)
        }
      }
#pragma omp target /* begins, ends */
    K (12);
  }
}

__attribute__ ((noipa)) static void left_early (int n)
{
#pragma omp target data map(tofrom : a)
  {
    for (int t = 0; t < 9; t++) /* begins */
      {
#pragma omp target
        K (13);
        if (t == n)
          break;
        if (t % 2)
          continue;
#pragma omp target
        K (14);
      }
#pragma omp target /* ends */
    K (15);
  }
}

__attribute__ ((noipa)) static void jumps (int n)
{
#pragma omp target data map(tofrom : a)
  {
  again:;
#pragma omp target /* begins */
    K (16);
    if (--n > 0) /* ends */
      goto again;
#pragma omp target update from(a)
#pragma omp target /* begins, ends */
    K (17);
  }
}

__attribute__ ((noipa)) static void without_a_block (int n)
{
#pragma omp target enter data map(to : a)
#pragma omp target
  K (18);
  if (n > 2)
    {
#pragma omp target exit data map(from : a)
      return;
    }
#pragma omp target
  K (19);
#pragma omp target exit data map(from : a)
}

int main (void)
{
  for (int i = 0; i < 64; i++)
    a[i] = i;
  tested_first (steps);
  nested (steps);
  cut_outside (steps);
  for (int c = 0; c < 2; c++)
    in_both_branches (c);
  for (int c = 0; c < 3; c++)
    in_a_switch (c == 2 ? 5 : c);
  in_a_switch (7);
  left_early (4);
  jumps (steps);
  without_a_block (3);
  without_a_block (2);
  double sum = 0;
  for (int i = 0; i < 64; i++)
    sum += a[i] * (i + 1);
  printf ("%.17g\n", sum);
  return 0;
}
