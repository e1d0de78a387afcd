/* What the runtime says of itself, in serial code, in regions with and without proc_bind, and in regions in regions. (No
   region on one place: libgomp leaves its threads there in the next region and says otherwise.) */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

static void show(const char *where) {
    omp_sched_t kind;
    int chunk, part = omp_get_partition_num_places(), places[64] = {0};
    omp_get_schedule(&kind, &chunk);
    if (part > 0 && part <= 64) omp_get_partition_place_nums(places);
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    printf("%s: thread %d/%d level %d/%d max %d dynamic %d nested %d levels %d limit %d schedule %x,%d", where, omp_get_thread_num(), omp_get_num_threads(),
           omp_get_level(), omp_get_active_level(), omp_get_max_threads(), omp_get_dynamic(), omp_get_nested(), omp_get_max_active_levels(),
           omp_get_thread_limit(), (unsigned)kind, chunk);
    printf(" bind %d place %d/%d of", omp_get_proc_bind(), omp_get_place_num(), omp_get_num_places());
    for (int i = 0; i < part && i < 64; i++) printf(" %d", places[i]);
    printf(" cpus");
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &cpus)) printf(" %d", c);
    printf(" procs %d cancel %d teams %d/%d device %d priority %d\n", omp_get_num_procs(), omp_get_cancellation(), omp_get_max_teams(),
           omp_get_teams_thread_limit(), omp_get_default_device(), omp_get_max_task_priority());
}

/* Every thread of the region, in order. */
#define ALL(where)                                                                                                                                   \
    {                                                                                                                                                \
        _Pragma("omp for ordered schedule(static, 1)") for (int t = 0; t < omp_get_num_threads(); t++) {                                             \
            _Pragma("omp ordered") show(where);                                                                                                      \
        }                                                                                                                                            \
    }

int main(void) {
    show("serial");
#pragma omp parallel
    ALL("region")
#pragma omp parallel proc_bind(spread)
    ALL("spread")
#pragma omp parallel proc_bind(close) num_threads(2)
    ALL("close")
#pragma omp parallel num_threads(2)
    {
#pragma omp for ordered schedule(static, 1)
        for (int t = 0; t < omp_get_num_threads(); t++) {
#pragma omp ordered
            {
#pragma omp parallel
                {
                    ALL("inner")
#pragma omp master
                    {
#pragma omp parallel num_threads(2)
                        ALL("innermost")
                    }
                }
            }
        }
    }
    show("serial");
    return 0;
}
