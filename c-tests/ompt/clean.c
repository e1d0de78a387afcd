/* Programs for Archer (ThreadSanitizer with OMPT): without an argument one without a race, with every way of
   ordering accesses that OpenMP has; with a number one with that race. Prints "done". */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 64, TEAM = 4 };
static int a[N], b[N], cell, other;
static omp_lock_t lock;
static omp_nest_lock_t nest;

static int race;
static int is(int n) { return race == n; }

/* Where a race needs two threads: one waits for the other, which orders nothing. */
static int begun[2];
static void begins(int n) { __atomic_store_n(&begun[n], 1, __ATOMIC_RELAXED); }
static void until(int wait, int n) {
    while (wait && !__atomic_load_n(&begun[n], __ATOMIC_RELAXED)) usleep(100);
}

int main(int argc, char **argv) {
    race = argc > 1 ? atoi(argv[1]) : 0;
    int sum = 0;
    omp_set_dynamic(0);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    /* What comes before a region, and what comes behind it. */
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp parallel num_threads(TEAM)
    b[omp_get_thread_num()] = a[omp_get_thread_num()];
    for (int i = 0; i < TEAM; i++) cell += b[i];
#pragma omp parallel num_threads(TEAM)
    {
        int me = omp_get_thread_num();
        /* Loops with their barriers. */
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < N; i++) a[i] = i;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) b[i] = a[N - 1 - i];
#pragma omp for schedule(guided) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += b[i];
#pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++) a[i] = b[i];
        if (is(1)) b[0] = a[N / 2]; /* no barrier behind the loop */
#pragma omp barrier
        /* Mutual exclusion. */
#pragma omp critical
        cell++;
#pragma omp critical(named)
        other++;
        omp_set_lock(&lock);
        a[0]++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        a[1]++;
        omp_unset_nest_lock(&nest);
        if (is(2)) cell++; /* outside of the critical section */
#pragma omp atomic
        a[2]++;
#pragma omp barrier
#pragma omp sections
        {
#pragma omp section
            a[3] = 1;
#pragma omp section
            a[4] = 1;
        }
        int mine = a[3] + a[4];
#pragma omp barrier
#pragma omp single copyprivate(mine)
        mine = cell;
        if (me == 0) a[5] = mine;
#pragma omp barrier
        /* Tasks: taskwait, dependences, taskgroup, barrier. */
#pragma omp single
        {
#pragma omp task
            {
                a[6] = 1;
                begins(0);
            }
            until(is(3), 0);
            if (!is(3)) {
#pragma omp taskwait
            }
            a[6]++; /* without the taskwait the task may still be at it */
#pragma omp task depend(out : cell)
            {
                a[7] = 1;
                until(is(4), 1);
            }
            if (is(4)) {
#pragma omp task
                {
                    begins(1);
                    a[8] = a[7];
                }
                until(1, 1);
            } else {
#pragma omp task depend(in : cell)
                a[8] = a[7];
            }
#pragma omp taskgroup
            {
                for (int i = 16; i < 20; i++)
#pragma omp task firstprivate(i)
                {
#pragma omp task
                    a[i] = i;
                }
            }
            for (int i = 16; i < 20; i++) b[i] = a[i];
#pragma omp taskloop num_tasks(4)
            for (int i = 32; i < 48; i++) a[i] = i;
            for (int i = 32; i < 48; i++) b[i] = a[i];
        }
        if (me == 1) b[7] = a[7] + a[8];
#pragma omp for ordered schedule(dynamic, 1)
        for (int i = 0; i < 8; i++)
#pragma omp ordered
            a[9] += i;
    }
    /* A region in each member of one. */
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num() * (N / 2);
#pragma omp parallel num_threads(2)
        a[outer + omp_get_thread_num()] = 1;
        a[outer] += a[outer + 1];
    }
    printf("done\n");
    return 0;
}
