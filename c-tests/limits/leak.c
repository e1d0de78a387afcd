/* 10^5 regions of every shape: memory and threads do not grow. Prints "ok" or what grew. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>

static long resident(void) {
    long pages = 0, shown = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (fscanf(f, "%ld %ld", &pages, &shown) != 2) abort();
    fclose(f);
    return shown * 4;
}
static int threads(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}
static volatile long sum;
static void round_(int i) {
    int t = 1 + i % 4;
#pragma omp parallel num_threads(t)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int k = 0; k < 8; k++) sum += k == 99;
#pragma omp single
        for (int k = 0; k < 3; k++)
#pragma omp task firstprivate(k)
            sum += k == 99;
#pragma omp critical(name)
        sum += 0;
    }
    if (i % 10 == 0) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp for reduction(+ : sum)
        for (int k = 0; k < 4; k++) sum += k == 99;
    }
    if (i % 10 == 5) {
        omp_lock_t l;
        omp_init_lock(&l);
        omp_set_lock(&l);
        omp_unset_lock(&l);
        omp_destroy_lock(&l);
        void *p = omp_alloc(100, omp_default_mem_alloc);
        omp_free(p, omp_default_mem_alloc);
#pragma omp parallel sections num_threads(2)
        {
#pragma omp section
            sum += 0;
#pragma omp section
            sum += 0;
        }
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop grainsize(2)
        for (int k = 0; k < 6; k++) sum += k == 99;
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            int a = 0;
#pragma omp task depend(out : a)
            a = 1;
#pragma omp task depend(in : a)
            sum += a == 99;
        }
    }
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100000;
    omp_set_max_active_levels(2);
    for (int i = 0; i < n / 10; i++) round_(i);
    long r = resident();
    int t = threads();
    for (int i = 0; i < n; i++) round_(i);
    long grown = resident() - r;
    if (grown > 256 || threads() > t)
        printf("grew by %ld KiB, from %d to %d threads\n", grown, t, threads());
    else
        printf("ok\n");
    return 0;
}
