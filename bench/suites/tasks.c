/* Task constructs. Times are a task, unless the row says otherwise. */
#include "bench.h"

static int threads;
static long shared;
enum { CHAINS = 64 };
static int chain[CHAINS];

static void one_creates(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
    }
}
static void one_creates_with_data(long n) {
    double a[8] = {1};
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task firstprivate(a, i)
        __asm__ volatile("" : : "r"(a), "r"(i) : "memory");
    }
}
static void one_creates_with_work(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task
        work(200);
    }
}
static void all_create(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
    }
}
static void all_create_with_work(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp task
        work(200);
    }
}
static void alone(long n) {
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
    }
}
static void undeferred(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task if (0)
        NOTHING();
    }
}
static void final_task(long n) {
#pragma omp parallel
#pragma omp single
#pragma omp task final(1)
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
    }
}
/* An array is copied into the task by a function of the compiler's. */
static void final_with_copy(long n) {
    double a[8] = {1};
#pragma omp parallel
#pragma omp single
#pragma omp task final(1)
    for (long i = 0; i < n; i++) {
#pragma omp task firstprivate(a, i)
        __asm__ volatile("" : : "r"(a), "r"(i) : "memory");
    }
}
/* Tasks within each other. */
enum { DEEP = 1000 };
__attribute__((noinline)) static void undeferred_below(long depth) {
    if (depth == 0) return;
#pragma omp task if (0)
    undeferred_below(depth - 1);
}
static void deep_undeferred(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) undeferred_below(DEEP);
}
static void deep_outside(long n) {
    for (long i = 0; i < n; i++) undeferred_below(DEEP);
}
__attribute__((noinline)) static void final_below(long depth) {
    if (depth == 0) return;
#pragma omp task final(1)
    final_below(depth - 1);
}
static void deep_final(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) final_below(DEEP);
}
__attribute__((noinline)) static void included_below(long depth) {
    if (depth == 0) return;
#pragma omp task
    included_below(depth - 1);
}
static void deep_included(long n) {
#pragma omp parallel
#pragma omp single
#pragma omp task final(1)
    for (long i = 0; i < n; i++) included_below(DEEP);
}
static void task_and_wait(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
#pragma omp taskwait
    }
}
static void one_task_and_wait(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
#pragma omp taskwait
    }
}
static void empty_wait(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp taskwait
    }
}
static void yields(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp taskyield
    }
}
static void group(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp taskgroup
        {
#pragma omp task
            NOTHING();
        }
    }
}
static void task_barrier(long n) {
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp task
        NOTHING();
#pragma omp barrier
    }
}
static void nested_tasks(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task
        for (int j = 0; j < 15; j++) {
#pragma omp task
            NOTHING();
        }
    }
}
static void loop_1(long n) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
    for (long i = 0; i < n; i++) NOTHING();
}
static void loop_10(long n) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(10)
    for (long i = 0; i < n; i++) NOTHING();
}
static void loop_reduction(long n) {
    long s = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(10) reduction(+ : s)
    for (long i = 0; i < n; i++) s += i;
    shared = s;
}
static void chains(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task depend(inout : chain[i % CHAINS])
        chain[i % CHAINS]++;
    }
}
static void one_chain(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task depend(inout : chain[0])
        chain[0]++;
    }
}
static void readers(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
        if (i % 16 == 0) {
#pragma omp task depend(out : chain[0])
            NOTHING();
        } else {
#pragma omp task depend(in : chain[0])
            NOTHING();
        }
    }
}
static void priorities(long n) {
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task priority(i & 7)
        NOTHING();
    }
}
static void reduction(long n) {
    long s = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : s)
    for (long i = 0; i < n; i++) {
#pragma omp task in_reduction(+ : s)
        s += i;
    }
    shared = s;
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : 0;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    row("one thread creates", 1, one_creates);
    row("one thread creates, 64 bytes of data", 1, one_creates_with_data);
    row("one thread creates, with work", 1, one_creates_with_work);
    row("all threads create", threads, all_create);
    row("all threads create, with work", threads, all_create_with_work);
    row("outside of a region", 1, alone);
    row("undeferred", 1, undeferred);
    row("in a final task", 1, final_task);
    row("in a final task, with a copy function", 1, final_with_copy);
    row("undeferred, 1,000 deep", DEEP, deep_undeferred);
    row("undeferred, 1,000 deep, outside", DEEP, deep_outside);
    row("final, 1,000 deep", DEEP, deep_final);
    row("in a final task, 1,000 deep", DEEP, deep_included);
    row("task and taskwait, all threads", 1, task_and_wait);
    row("task and taskwait, one thread", 1, one_task_and_wait);
    row("taskwait without tasks", 1, empty_wait);
    row("taskyield", 1, yields);
    row("taskgroup of one task", 1, group);
    row("task and barrier", 1, task_barrier);
    row("tasks of tasks", 16, nested_tasks);
    row("taskloop grainsize(1), an iteration", 1, loop_1);
    row("taskloop grainsize(10), an iteration", 1, loop_10);
    row("taskloop with reduction, an iteration", 1, loop_reduction);
    row("64 chains of dependences", 1, chains);
    row("one chain of dependences", 1, one_chain);
    row("one writer, 15 readers", 1, readers);
    row("priorities", 1, priorities);
    row("task reduction", 1, reduction);
    return 0;
}
