/* Regions: sizes, data sharing, nesting, threadprivate, reductions of all kinds. Prints the same on any number of threads. */
#include <omp.h>
#include <stdio.h>

static int tp = 7;
#pragma omp threadprivate(tp)

int main(void) {
    int n = 0, all = 1;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n += 1;
    printf("three %d\n", n);
#pragma omp parallel if (0)
    printf("serial %d level %d\n", omp_get_num_threads(), omp_get_level());

    int f = 41;
#pragma omp parallel firstprivate(f) reduction(&& : all)
    {
        f++;
        all = all && f == 42;
    }
    printf("firstprivate %d %d\n", all, f);

    tp = 9;
    int sum = 0;
#pragma omp parallel copyin(tp) num_threads(4) reduction(+ : sum)
    {
        tp += omp_get_thread_num();
        sum += tp;
    }
    printf("copyin %d\n", sum);
    sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += tp;
    printf("kept %d\n", sum);

    omp_set_max_active_levels(3);
    int outer[4][3] = {{0}};
#pragma omp parallel num_threads(4)
    {
        int o = omp_get_thread_num();
#pragma omp parallel num_threads(3)
        outer[o][omp_get_thread_num()] = 100 * omp_get_level() + 10 * omp_get_ancestor_thread_num(1) + omp_get_team_size(2);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) printf("%d ", outer[i][j]);
    printf("\n");

    long s = 0, m = -1, p = 1;
    unsigned x = 0;
    double d = 0;
#pragma omp parallel for reduction(+ : s, d) reduction(max : m) reduction(* : p) reduction(^ : x)
    for (int i = 1; i <= 20; i++) {
        s += i, d += 0.5 * i, m = m > i ? m : i, x ^= i * 2654435761u;
        if (i <= 10) p *= i;
    }
    printf("reductions %ld %ld %ld %u %.1f\n", s, m, p, x, d);
    int hist[8] = {0};
#pragma omp parallel for reduction(+ : hist[:8]) schedule(dynamic, 3)
    for (int i = 0; i < 1000; i++) hist[i * 7 % 8]++;
    for (int i = 0; i < 8; i++) printf("%d ", hist[i]);
    printf("\n");
    for (int r = 0; r < 2000; r++) {
#pragma omp parallel reduction(+ : s)
        s += omp_get_thread_num() == 0;
    }
    printf("many %ld\n", s);
    return 0;
}
