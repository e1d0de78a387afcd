/* What c-tests/observe/events.c has not, as the first argument says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static volatile long sink;
static double data[1000];

/* Three dependences that are not met when the last task is created: the first task waits for that. */
static void dependences(void) {
    int a, b, c, d;
    static volatile int go;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task depend(out : a) depend(inout : b)
        while (!go) sink = 1;
#pragma omp task depend(mutexinoutset : c)
        while (!go) sink = 1;
#pragma omp task depend(in : a, b) depend(mutexinoutset : c) depend(in : d)
        sink = 2;
        go = 1;
    }
}

static void target(void) {
#pragma omp target map(tofrom : data)
    for (int i = 0; i < 1000; i++) data[i] += 1;
#pragma omp target data map(to : data)
    {
#pragma omp target update to(data)
        sink = 1;
    }
#pragma omp target enter data map(to : data)
#pragma omp target exit data map(delete : data)
}

static void directives(void) {
#pragma omp error at(execution) severity(warning) message("watch")
    sink = 1;
}

/* Compilers that have it link to it. */
static void control(void) {
    int (*f)(int, int, void *) = (int (*)(int, int, void *))dlsym(RTLD_DEFAULT, "omp_control_tool");
    int (*fortran)(int *, int *) = (int (*)(int *, int *))dlsym(RTLD_DEFAULT, "omp_control_tool_");
    int two = 2, three = 3;
    (void)omp_get_max_threads();
    printf("%d", f(1, 5, (void *)9));
    printf(" %d", fortran(&two, &three));
    /* The tool ends itself. */
    printf(" %d", f(4, 0, NULL));
    printf(" %d\n", f(1, 0, NULL));
#pragma omp parallel num_threads(2)
    sink = 1;
}

/* The first thing that the runtime hears of. */
static void first_lock(void) {
    static omp_lock_t lock;
    omp_init_lock(&lock);
    omp_destroy_lock(&lock);
}

/* The calls that GCC 17 puts into code compiled with -fopenmp-ompt. */
static void newer(void) {
    unsigned long (*begin)(unsigned long) = dlsym(RTLD_DEFAULT, "GOMP_loop_static_worksharing_start");
    void (*dispatch)(unsigned long, unsigned long) =
        dlsym(RTLD_DEFAULT, "GOMP_loop_static_worksharing_dispatch");
    void (*end)(void) = dlsym(RTLD_DEFAULT, "GOMP_loop_static_worksharing_end");
    _Bool (*masked)(int) = dlsym(RTLD_DEFAULT, "GOMP_has_masked_thread_num_with_end");
    void (*masked_end)(void) = dlsym(RTLD_DEFAULT, "GOMP_masked_end");
    _Bool (*single)(void) = dlsym(RTLD_DEFAULT, "GOMP_single_start_with_end");
    void (*single_end)(void) = dlsym(RTLD_DEFAULT, "GOMP_single_end");
    void (*reduction)(void) = dlsym(RTLD_DEFAULT, "GOMP_reduction_start");
    void (*reduction_end)(void) = dlsym(RTLD_DEFAULT, "GOMP_reduction_end");
#pragma omp parallel num_threads(4)
    {
        begin(100);
        dispatch(10, 5);
        end();
        if (masked(2)) masked_end();
        if (single()) single_end();
        reduction();
        sink++;
        reduction_end();
    }
}

/* Tasks of the initial task that calls it, whatever that is of. */
static void __attribute__((noinline)) have_a_task(void) {
#pragma omp task
    sink = 2;
#pragma omp taskwait
}

/* A league of three teams, in each of which a region of two threads begins, and a task. */
static void league(void) {
#pragma omp teams num_teams(3)
    {
#pragma omp parallel num_threads(2)
        sink = 1;
        have_a_task();
    }
}

/* Threads of the program's own; each has a region. */
static void *of_a_thread(void *arg) {
#pragma omp parallel num_threads(2)
    sink = 1;
    return arg;
}

static void threads(void) {
    pthread_t t[3];
    (void)omp_get_max_threads();
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, of_a_thread, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"dependences", dependences}, {"target", target},         {"directives", directives},
               {"control", control},         {"first_lock", first_lock}, {"newer", newer},
               {"threads", threads},         {"league", league}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    return 0;
}
