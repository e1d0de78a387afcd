// What a post of a doacross loop allows has to be allowed at once: behind it each iteration waits, by a flag
// that no runtime knows of, for what the next one does behind its wait. Usage: posts
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { N = 400 };

static int seen[N];

int main (void)
{
  int threads = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    threads = omp_get_num_threads ();
    if (threads == 2)
      {
#pragma omp for ordered(1) schedule(dynamic, 1)
        for (int i = 0; i < N; i++)
          {
#pragma omp ordered depend(sink : i - 1)
            __atomic_store_n (&seen[i], 1, __ATOMIC_RELEASE);
#pragma omp ordered depend(source)
            while (i + 1 < N && !__atomic_load_n (&seen[i + 1], __ATOMIC_ACQUIRE))
              sched_yield ();
          }
      }
  }
  int sum = 0;
  for (int i = 0; i < N; i++)
    sum += seen[i];
  printf ("%d threads, %d iterations\n", threads, sum);
  return 0;
}
