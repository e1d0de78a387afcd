/* Synchronization constructs, back to back. */
#include "bench.h"

static int threads;
static double sink;
static omp_lock_t lock;
static omp_nest_lock_t nest_lock;
static long shared;

static void region(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp parallel
        NOTHING();
    }
}
static void region_of_one(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp parallel num_threads(1)
        NOTHING();
    }
}
static void inner_region(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp parallel
        NOTHING();
    }
}
static void parallel_for(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp parallel for
        for (int j = 0; j < threads; j++) NOTHING();
    }
}
static void parallel_reduction(long n) {
    double s = 0;
    for (long i = 0; i < n; i++) {
#pragma omp parallel reduction(+ : s)
        s += 1;
    }
    sink = s;
}
static void parallel_sections(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp parallel sections
        {
#pragma omp section
            NOTHING();
#pragma omp section
            NOTHING();
        }
    }
}
static void barrier(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp barrier
    }
}
static void loop(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp for
        for (int j = 0; j < threads; j++) NOTHING();
    }
}
static void loop_reduction(long n) {
    double s = 0;
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp for reduction(+ : s)
        for (int j = 0; j < threads; j++) s += 1;
    }
    sink = s;
}
static void sections(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp sections
        {
#pragma omp section
            NOTHING();
#pragma omp section
            NOTHING();
        }
    }
}
static void single(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp single
        NOTHING();
    }
}
static void single_nowait(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp single nowait
        NOTHING();
    }
}
static void critical(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp critical
        shared++;
    }
}
static void named_critical(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp critical(named)
        shared++;
    }
}
static void critical_alone(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp critical
        shared++;
    }
}
static void locks(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
        omp_set_lock(&lock);
        shared++;
        omp_unset_lock(&lock);
    }
}
static void lock_alone(long n) {
    for (long i = 0; i < n; i++) {
        omp_set_lock(&lock);
        shared++;
        omp_unset_lock(&lock);
    }
}
static void nest_locks(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
        omp_set_nest_lock(&nest_lock);
        shared++;
        omp_unset_nest_lock(&nest_lock);
    }
}
/* As programs use them: some work inside, more outside. */
static void critical_with_work(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp critical
        work(20);
        work(100);
    }
}
static void atomic_wide(long n) {
    static long double wide;
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp atomic
        wide += 1;
    }
}
static void ordered(long n) {
#pragma omp parallel for ordered schedule(static, 1)
    for (long i = 0; i < n; i++) {
#pragma omp ordered
        NOTHING();
    }
}
static void doacross(long n) {
#pragma omp parallel for ordered(1) schedule(static, 1)
    for (long i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
        NOTHING();
#pragma omp ordered depend(source)
    }
}
/* Chunks of one iteration, taken one after the other by whoever is free. */
static void doacross_dynamic(long n) {
#pragma omp parallel for ordered(1) schedule(dynamic, 1)
    for (long i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
        NOTHING();
#pragma omp ordered depend(source)
    }
}
/* Two loops: an iteration waits for those above and beside it. */
enum { WIDE = 32 };
static void doacross_2(long n) {
#pragma omp parallel for ordered(2) schedule(static, 1)
    for (long i = 0; i < n; i++)
        for (long j = 0; j < WIDE; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            NOTHING();
#pragma omp ordered depend(source)
        }
}
int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    row("parallel", 1, region);
    row("parallel, one thread", 1, region_of_one);
    row("parallel in parallel", 1, inner_region);
    row("parallel for", 1, parallel_for);
    row("parallel reduction", 1, parallel_reduction);
    row("parallel sections", 1, parallel_sections);
    row("barrier", 1, barrier);
    row("for", 1, loop);
    row("for reduction", 1, loop_reduction);
    row("sections", 1, sections);
    row("single", 1, single);
    row("single nowait", 1, single_nowait);
    row("critical", threads, critical);
    row("critical, named", threads, named_critical);
    row("critical, uncontended", 1, critical_alone);
    row("critical, with work", threads, critical_with_work);
    row("lock", threads, locks);
    row("lock, uncontended", 1, lock_alone);
    row("nest lock", threads, nest_locks);
    row("atomic, 16 bytes", threads, atomic_wide);
    row("ordered", 1, ordered);
    row("doacross", 1, doacross);
    row("doacross, dynamic", 1, doacross_dynamic);
    row("doacross, two loops", WIDE, doacross_2);
    return sink < 0;
}
