/* Sections, single, copyprivate, critical, atomic, locks, barriers, master, scope. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    int a = 0, b = 0, c = 0;
#pragma omp parallel sections
    {
#pragma omp section
        a = 1;
#pragma omp section
        b = 2;
#pragma omp section
        c = 3;
    }
    printf("sections %d %d %d\n", a, b, c);
    int singles = 0, masters = 0, lost = 0;
#pragma omp parallel reduction(+ : lost)
    for (int r = 0; r < 100; r++) {
        int v = -1;
#pragma omp single copyprivate(v)
        v = r * 3;
        lost += v != r * 3;
#pragma omp single
        singles++;
#pragma omp master
        masters++;
#pragma omp sections nowait
        {
#pragma omp section
            lost += 0;
#pragma omp section
            lost += 0;
        }
    }
    printf("single %d master %d lost %d\n", singles, masters, lost);

    long plain = 0, named = 0, atomic = 0, locked = 0, nested = 0, tested = 0;
    long double wide = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 1000; i++) {
#pragma omp critical
        plain++;
#pragma omp critical(name)
        named++;
#pragma omp atomic
        atomic++;
#pragma omp atomic
        wide += 1;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&lock)) {}
        tested++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("locks %ld %ld %ld %ld %ld %ld %.0Lf\n", plain, named, atomic, locked, nested, tested, wide);

    int step[8] = {0}, bad = 0;
#pragma omp parallel num_threads(4) reduction(+ : bad)
    for (int r = 1; r <= 500; r++) {
        int t = omp_get_thread_num();
        step[t] = r;
#pragma omp barrier
        for (int i = 0; i < omp_get_num_threads(); i++) bad += step[i] != r;
#pragma omp barrier
    }
    printf("barrier bad %d\n", bad);
    long scoped = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp scope reduction(+ : scoped)
        scoped += 5;
    }
    printf("scope %ld\n", scoped);
    return 0;
}
