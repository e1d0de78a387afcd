/* One construct after another, as the first argument says, by teams of four: what happens can be counted by
   hand (tests/observe.rs). At the end all threads are sent away, so that all of theirs has happened, too. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { TEAM = 4 };
static omp_lock_t lock;
static omp_nest_lock_t nest;
static volatile long sink;

static void regions(void) {
    for (int i = 0; i < 3; i++)
#pragma omp parallel num_threads(TEAM)
        sink = 1;
#pragma omp parallel if (0)
    sink = 2;
}

static void nested(void) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    sink = 1;
}

static void loops(void) {
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp for schedule(dynamic, 5)
        for (int i = 0; i < 100; i++) sink = i;
#pragma omp for schedule(static)
        for (int i = 0; i < 100; i++) sink = i;
#pragma omp for schedule(dynamic, 1) nowait
        for (int i = 0; i < 7; i++) sink = i;
#pragma omp barrier
    }
#pragma omp parallel for num_threads(TEAM) schedule(dynamic, 10)
    for (int i = 0; i < 100; i++) sink = i;
}

static void sections(void) {
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp sections
        {
#pragma omp section
            sink = 1;
#pragma omp section
            sink = 2;
#pragma omp section
            sink = 3;
        }
    }
#pragma omp parallel sections num_threads(TEAM)
    {
#pragma omp section
        sink = 1;
#pragma omp section
        sink = 2;
    }
}

static void singles(void) {
#pragma omp parallel num_threads(TEAM)
    {
        int x = 0;
#pragma omp single
        sink = 1;
#pragma omp single nowait
        sink = 2;
#pragma omp single copyprivate(x)
        x = 5;
        sink = x;
    }
}

static void locks(void) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp critical
        sink = 1;
#pragma omp critical(named)
        sink = 2;
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    if (omp_test_lock(&lock)) omp_unset_lock(&lock);
    if (omp_test_nest_lock(&nest)) omp_unset_nest_lock(&nest);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

static void ordered(void) {
#pragma omp parallel for num_threads(TEAM) schedule(dynamic, 2) ordered
    for (int i = 0; i < 8; i++)
#pragma omp ordered
        sink = i;
}

static void tasks(void) {
    int x = 0;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    {
        for (int i = 0; i < 10; i++)
#pragma omp task
            sink = i;
#pragma omp taskwait
#pragma omp task if (0)
        sink = 1;
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                sink = 2;
            }
        }
#pragma omp task depend(out : x) shared(x)
        x = 1;
#pragma omp task depend(in : x) shared(x)
        sink = x;
#pragma omp taskwait depend(in : x)
#pragma omp task final(1)
        {
#pragma omp task
            sink = 3;
        }
    }
}

static void taskloops(void) {
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    {
#pragma omp taskloop num_tasks(5)
        for (int i = 0; i < 50; i++) sink = i;
#pragma omp taskloop grainsize(1) nogroup
        for (int i = 0; i < 1000; i++) sink = i;
    }
}

static void detached(void) {
    omp_event_handle_t first, second;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    {
#pragma omp task detach(first)
        omp_fulfill_event(first);
#pragma omp taskwait
#pragma omp task detach(second)
        sink = 1;
        omp_fulfill_event(second);
    }
}

static void cancelled(void) {
#pragma omp parallel num_threads(TEAM)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1; i++) {
#pragma omp cancel for
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
        for (;;) {
#pragma omp cancellation point parallel
        }
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"regions", regions},     {"nested", nested},     {"loops", loops},
               {"sections", sections},   {"singles", singles},   {"locks", locks},
               {"ordered", ordered},     {"tasks", tasks},       {"taskloops", taskloops},
               {"detached", detached},   {"cancelled", cancelled}};
    omp_set_dynamic(0);
    (void)omp_get_max_threads();
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    omp_pause_resource_all(omp_pause_hard);
    return 0;
}
