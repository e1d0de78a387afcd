/* Regions of which each differs from the one before in one thing that it is set up from; every thread's view is printed in order. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };
static struct view { int size, max, dynamic, levels, kind, chunk, nested, team, teams, bind; size_t allocator; } views[MOST];

static struct view look(void) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    return (struct view){omp_get_num_threads(), omp_get_max_threads(), omp_get_dynamic(), omp_get_max_active_levels(), (int)kind, chunk, omp_get_level(),
                         omp_get_team_num(), omp_get_num_teams(), (int)omp_get_proc_bind(), (size_t)omp_get_default_allocator()};
}
static void show(const char *what) {
    for (int t = 0; t < MOST; t++) {
        struct view v = views[t];
        if (v.size)
            printf("%s: %d: size %d max %d dyn %d lev %d sched %x,%d level %d team %d/%d bind %d alloc %zu\n", what, t, v.size, v.max, v.dynamic, v.levels,
                   v.kind, v.chunk, v.nested, v.team, v.teams, v.bind, v.allocator);
        views[t] = (struct view){0};
    }
}
/* Twice: set up, and again. */
#define REGIONS(what, ...)                                                                                                                           \
    for (int again = 0; again < 2; again++) {                                                                                                        \
        _Pragma(#__VA_ARGS__) views[omp_get_thread_num()] = look();                                                                                  \
        show(what);                                                                                                                                  \
    }

int main(void) {
    int inner = 0, cancelled = 0;
    omp_set_dynamic(0);
    omp_set_num_threads(4);
    REGIONS("plain", omp parallel)
    REGIONS("clause", omp parallel num_threads(3))
    REGIONS("plain", omp parallel)
    REGIONS("bound", omp parallel proc_bind(close))
    REGIONS("one", omp parallel if(0))
    omp_set_num_threads(2);
    REGIONS("two", omp parallel)
    omp_set_num_threads(4);
    omp_set_schedule(omp_sched_guided, 7);
    REGIONS("schedule", omp parallel)
    omp_set_default_allocator(omp_high_bw_mem_alloc);
    REGIONS("allocator", omp parallel)
    omp_set_max_active_levels(3);
    REGIONS("levels", omp parallel)

    /* What a member changes is its own, and gone with its region. */
    for (int k = 0; k < 3; k++) {
#pragma omp parallel
        {
            int t = omp_get_thread_num();
            if (t == k % 2) {
                omp_set_num_threads(2 + k);
                omp_set_schedule(omp_sched_dynamic, 3);
                omp_set_max_active_levels(1);
            }
            views[t] = look();
        }
        show("changed inside");
    }
    REGIONS("behind it", omp parallel)

    /* Regions in regions, of sizes that the outer members choose. */
    for (int k = 0; k < 3; k++) {
        inner = 0;
#pragma omp parallel num_threads(3) reduction(+ : inner)
        {
            omp_set_num_threads(1 + (omp_get_thread_num() + k) % 3);
#pragma omp parallel reduction(+ : inner)
            inner += 1 + 10 * (omp_get_num_threads() == omp_get_max_threads()) + 100 * omp_get_ancestor_thread_num(1);
            views[omp_get_thread_num()] = look();
        }
        printf("inner %d\n", inner);
        show("outer");
    }
    REGIONS("after nesting", omp parallel)

    /* A region in a task, whose ICVs differ; in teams; behind a region with tasks, with a single, of another function. */
#pragma omp task if(0)
    {
        omp_set_num_threads(3);
        REGIONS("in a task", omp parallel)
    }
    REGIONS("behind the task", omp parallel)
#pragma omp teams num_teams(2) thread_limit(3)
    {
        REGIONS("in a team", omp parallel)
        REGIONS("smaller", omp parallel num_threads(2))
    }
    REGIONS("behind teams", omp parallel)
    for (int k = 0; k < 3; k++) {
        int n = 0, m = 0;
#pragma omp parallel
        {
#pragma omp single
            for (int i = 0; i < 10; i++)
#pragma omp task
#pragma omp atomic
                n++;
#pragma omp single nowait
            m++;
        }
        printf("tasks %d singles %d\n", n, m);
    }
    for (int k = 0; k < 4; k++) {
#pragma omp parallel
        {
#pragma omp cancel parallel if(k == 1)
#pragma omp atomic
            cancelled++;
        }
    }
    printf("cancelled %d\n", cancelled);
#pragma omp target thread_limit(2)
    REGIONS("in a target", omp parallel)
    REGIONS("at last", omp parallel)
    if (omp_pause_resource_all(omp_pause_soft)) puts("not paused");
    REGIONS("paused", omp parallel)
    return 0;
}
