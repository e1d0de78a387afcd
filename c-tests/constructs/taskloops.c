/* Taskloops: how iterations are dealt to tasks, and what each task is by itself. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 5000 };
static unsigned char begins[MOST], done[MOST];

/* The first iteration of a task finds its own `fresh` as it was. */
#define ITERATION(i) (done[i]++, begins[i] += fresh, fresh = 0)

static void show(const char *what, int n) {
    unsigned long where = 0;
    int tasks = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        wrong += done[i] != 1;
        if (begins[i]) {
            tasks++;
            where = where * 31 + i;
        }
    }
    printf("%s %d: tasks %d at %lx, wrong %d\n", what, n, tasks, where, wrong);
    memset(begins, 0, sizeof begins);
    memset(done, 0, sizeof done);
}

static void deals(int n, int k) {
    int fresh = 1;
#pragma omp taskloop grainsize(k) firstprivate(fresh)
    for (int i = 0; i < n; i++) ITERATION(i);
    show("grainsize", n);
#pragma omp taskloop grainsize(strict : k) firstprivate(fresh)
    for (int i = 0; i < n; i++) ITERATION(i);
    show("strict grainsize", n);
#pragma omp taskloop num_tasks(k) firstprivate(fresh) untied
    for (int i = 0; i < n; i++) ITERATION(i);
    show("num_tasks", n);
#pragma omp taskloop num_tasks(strict : k) firstprivate(fresh)
    for (int i = 0; i < n; i++) ITERATION(i);
    show("strict num_tasks", n);
#pragma omp taskloop num_tasks(k) firstprivate(fresh) final(k & 1)
    for (int i = 0; i < n; i++) {
        ITERATION(i);
        done[i] += omp_in_final() != (k & 1);
    }
    show("final", n);
#pragma omp taskloop num_tasks(k) firstprivate(fresh) if (k & 1) priority(k)
    for (int i = 0; i < n; i++) ITERATION(i);
    show("if, priority", n);
    if (n >= 1000) {
#pragma omp taskloop grainsize(k) firstprivate(fresh)
        for (unsigned long i = n; i > 0; i--) ITERATION(i - 1);
        show("downwards", n);
#pragma omp taskloop grainsize(k) firstprivate(fresh) collapse(2)
        for (int i = 0; i < n / 10; i++)
            for (int j = 0; j < 10; j++) ITERATION(10 * i + j);
        show("collapse", n / 10 * 10);
#pragma omp taskloop grainsize(k) firstprivate(fresh) nogroup
        for (long i = -n; i < 2L * n; i += 3) ITERATION((i + n) / 3);
#pragma omp taskwait
        show("nogroup", n);
    }
}

/* Tasks of the tasks, what a task changes for itself, what comes out. */
static void contents(int n, int k) {
    long sum = 0, below = 0;
    int last = -1, foreign = 0, big[60];
    for (int i = 0; i < 60; i++) big[i] = i;
    omp_set_num_threads(7);
#pragma omp taskloop grainsize(k) reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += i;
#pragma omp taskloop grainsize(k) lastprivate(last)
    for (int i = 0; i < n; i++) last = i * 3;
#pragma omp taskloop grainsize(k) firstprivate(big) reduction(+ : foreign)
    for (int i = 0; i < n; i++) foreign += big[i % 60] != i % 60;
    int fresh = 1;
#pragma omp taskloop grainsize(k) firstprivate(fresh) shared(foreign)
    for (int i = 0; i < n; i++) {
        if (fresh && omp_get_max_threads() != 7) {
#pragma omp atomic
            foreign++;
        }
        fresh = 0;
        omp_set_num_threads(3);
    }
#pragma omp taskloop grainsize(k) shared(below)
    for (int i = 0; i < n; i++) {
        int mine = 0;
#pragma omp task shared(mine)
        mine = i;
#pragma omp taskwait
#pragma omp atomic
        below += mine;
        /* Not waited for. */
#pragma omp task shared(below)
        {
#pragma omp atomic
            below++;
        }
    }
    printf("sum %ld last %d foreign %d below %ld threads %d\n", sum, last, foreign, below,
           omp_get_max_threads());
}

/* Within each other. */
static void nested(int n) {
    long sum = 0;
#pragma omp taskloop num_tasks(8) reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        long inner = 0;
#pragma omp taskloop grainsize(2) reduction(+ : inner)
        for (int j = 0; j < 30; j++) inner += i * j;
        sum += inner;
    }
    printf("nested %ld\n", sum);
}

/* Whoever waits behind a group sees all of it; so does a barrier without one. */
static void by_all(int n) {
    int count = 0, early = 0;
#pragma omp parallel
    {
#pragma omp taskloop num_tasks(5) nogroup
        for (int i = 0; i < n; i++) {
#pragma omp task
            {
#pragma omp atomic
                count++;
            }
        }
#pragma omp barrier
        int seen;
#pragma omp atomic read
        seen = count;
        if (seen != n * omp_get_num_threads()) {
#pragma omp atomic
            early++;
        }
    }
    printf("by all, early %d\n", early);
}

int main(void) {
    static const int sizes[] = {1, 2, 3, 10, 100, 1000, MOST}, grains[] = {1, 2, 7, 64, 1000};
#pragma omp parallel
#pragma omp single
    for (unsigned a = 0; a < sizeof sizes / sizeof *sizes; a++)
        for (unsigned b = 0; b < sizeof grains / sizeof *grains; b++) {
            deals(sizes[a], grains[b]);
            contents(sizes[a], grains[b]);
        }
#pragma omp parallel
#pragma omp single
    for (int n = 1; n < 200; n += 40) nested(n);
    for (int r = 0; r < 50; r++) by_all(17);
    return 0;
}
