// Kernels and write-backs in every control structure. A line with "begins" or "ends" in its comment is one at
// which promp-cc finds that a section begins or ends. Prints a checksum.
#include <stdio.h>

static double a[64];
static int steps = 3, odd = 1;

// A kernel, and a write-back.
#define K(x) for (int i = 0; i < 64; i++) a[i] = a[i] * 0.5 + (x)

__attribute__ ((noipa)) static void in_a_block (void)
{
#pragma omp target data map(tofrom : a)
  {
#pragma omp target /* begins */
    K (1);
#pragma omp target /* ends */
    K (2);
#pragma omp target update from(a)
#pragma omp target /* begins, ends */
    K (3);
  }
}

__attribute__ ((noipa)) static void in_a_loop (int n)
{
#pragma omp target data map(tofrom : a)
  {
    int t = 0;
    do
      {
#pragma omp target /* begins */
        K (4);
#pragma omp target
        K (5);
        t++;
      }
    while (t < n); /* ends */
  }
}

__attribute__ ((noipa)) static void cut_in_a_loop (int n)
{
#pragma omp target data map(tofrom : a)
  {
    int t = 0;
    do
      {
#pragma omp target /* begins */
        K (6);
#pragma omp target /* ends */
        K (7);
#pragma omp target update from(a)
        t++;
      }
    while (t < n);
  }
}

__attribute__ ((noipa)) static void beside_a_write_back (int c)
{
#pragma omp target data map(tofrom : a)
  {
    if (c)
      {
#pragma omp target /* begins, ends */
        K (8);
      }
    else
      {
#pragma omp target update from(a)
      }
#pragma omp target /* begins, ends */
    K (9);
  }
}

// Nobody has mapped the array: the kernel brings it back itself.
__attribute__ ((noipa)) static void by_itself (void)
{
#pragma omp target
  K (10);
#pragma omp target map(tofrom : a)
  K (11);
}

// A function that only its callers can cut.
__attribute__ ((noinline)) static void half (double x)
{
#pragma omp target map(alloc : a)
  K (x);
}

__attribute__ ((noipa)) static void through_a_function (void)
{
#pragma omp target data map(tofrom : a)
  {
    half (12); /* begins */
    half (13); /* ends */
#pragma omp target update from(a)
    half (14); /* begins, ends */
  }
}

int main (void)
{
  for (int i = 0; i < 64; i++)
    a[i] = i;
  in_a_block ();
  in_a_loop (steps);
  cut_in_a_loop (steps);
  beside_a_write_back (odd);
  beside_a_write_back (!odd);
  by_itself ();
  through_a_function ();
  double sum = 0;
  for (int i = 0; i < 64; i++)
    sum += a[i] * (i + 1);
  printf ("%.17g\n", sum);
  return 0;
}
