// What regions on each device begin with: number of threads, levels, limit, schedule. With an argument, a
// region on that device first.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main (int argc, char **argv)
{
  if (argc > 1)
    {
      int on = -1;
#pragma omp target device(atoi (argv[1])) map(from : on)
      on = omp_get_device_num ();
      printf ("on %d\n", on);
    }
  for (int d = 0; d <= omp_get_num_devices (); d++)
    {
      int threads, levels, limit, dynamic, chunk;
      omp_sched_t kind;
#pragma omp target device(d) map(from : threads, levels, limit, dynamic, chunk, kind)
      {
        threads = omp_get_max_threads ();
        levels = omp_get_max_active_levels ();
        limit = omp_get_thread_limit ();
        dynamic = omp_get_dynamic ();
        omp_get_schedule (&kind, &chunk);
      }
      printf ("%d: %d %d %d %d %d,%d\n", d, threads, levels, limit, dynamic, (int) kind & 7, chunk);
    }
  return 0;
}
