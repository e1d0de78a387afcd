// What regions on each device begin with: number of threads, levels, limit, schedule, teams. With an
// argument, a region on that device first.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp declare target
static __attribute__ ((noinline)) void look (int *limit)
{
  if (omp_get_team_num () == 0)
    *limit = omp_get_thread_limit ();
}
#pragma omp end declare target

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
      int threads, levels, limit, dynamic, chunk, teams, team, inside = 0;
      omp_sched_t kind;
#pragma omp target device(d) map(from : threads, levels, limit, dynamic, chunk) \
    map(from : kind, teams, team)
      {
        threads = omp_get_max_threads ();
        levels = omp_get_max_active_levels ();
        limit = omp_get_thread_limit ();
        dynamic = omp_get_dynamic ();
        omp_get_schedule (&kind, &chunk);
        teams = omp_get_max_teams ();
        team = omp_get_teams_thread_limit ();
      }
#pragma omp target teams device(d) map(tofrom : inside)
      look (&inside);
      printf ("%d: %d %d %d %d %d,%d teams %d of %d, %d\n", d, threads, levels, limit, dynamic,
              (int) kind & 7, chunk, teams, team, inside);
    }
  return 0;
}
