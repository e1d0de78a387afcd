/* What is not mapped is used by other threads than the one that begins the target region: `n` is mapped, what
   its member points to is not. The first argument says by whom; with a second one they are there before. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };
struct node { double *data; };

#ifdef _OPENACC
static double sum_of(const char *who, struct node *n) {
    double sum = 0;
    if (!strcmp(who, "loop")) {
#pragma acc parallel loop copyin(n[0:1]) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += n->data[i];
    } else {
#pragma acc kernels copyin(n[0:1]) copy(sum)
        for (int i = 0; i < N; i++) sum += n->data[i];
    }
    return sum;
}
#else
static double sum_of(const char *who, struct node *n) {
    double sum = 0;
    if (!strcmp(who, "league")) {
#pragma omp target teams distribute parallel for map(to : n[0:1]) map(tofrom : sum) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += n->data[i];
    } else if (!strcmp(who, "teams")) {
#pragma omp target teams num_teams(3) map(to : n[0:1]) map(tofrom : sum) reduction(+ : sum)
        sum += n->data[omp_get_team_num()];
    } else if (!strcmp(who, "parallel")) {
#pragma omp target parallel for map(to : n[0:1]) map(tofrom : sum) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += n->data[i];
    } else if (!strcmp(who, "simd")) {
#pragma omp target parallel for simd map(to : n[0:1]) map(tofrom : sum) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += n->data[i];
    } else if (!strcmp(who, "last")) { /* by the last thread alone */
#pragma omp target parallel map(to : n[0:1]) map(tofrom : sum)
        if (omp_get_thread_num() == omp_get_num_threads() - 1) sum = n->data[7];
    } else if (!strcmp(who, "written")) {
#pragma omp target teams distribute parallel for map(to : n[0:1]) map(tofrom : sum)
        for (int i = 0; i < N; i++) n->data[i] = i;
    } else if (!strcmp(who, "nested")) {
#pragma omp target map(to : n[0:1]) map(tofrom : sum)
#pragma omp parallel num_threads(2)
        for (int k = 0; k < 100; k++)
#pragma omp parallel for num_threads(2)
            for (int i = 0; i < N; i++)
#pragma omp atomic
                sum += n->data[i];
    } else if (!strcmp(who, "task")) {
#pragma omp target map(to : n[0:1]) map(tofrom : sum)
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 10; i++)
#pragma omp task
#pragma omp atomic
            sum += n->data[i];
    } else if (!strcmp(who, "behind")) { /* by the first thread, behind a region of all */
#pragma omp target map(to : n[0:1]) map(tofrom : sum)
        {
#pragma omp parallel
#pragma omp atomic
            sum++;
            sum = n->data[1];
        }
    } else if (!strcmp(who, "beside")) { /* right: the host uses its own memory while the region runs */
        double *there = malloc(N * sizeof *there);
        for (int i = 0; i < N; i++) there[i] = 1;
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp target nowait map(to : there[0:N]) map(tofrom : sum)
            for (int k = 0; k < 3000; k++)
                for (int i = 0; i < N; i++) sum += there[i];
            for (int k = 0; k < 3000; k++)
                for (int i = 0; i < N; i++) n->data[i] += 1;
        }
    } else if (!strcmp(who, "library")) { /* a library's function needs the heap before */
#pragma omp target map(to : n[0:1]) map(tofrom : sum)
        {
            void *volatile p = malloc(100);
            free(p);
            sum = n->data[1];
        }
    } else { /* right: as the first */
        double *a = n->data;
#pragma omp target teams distribute parallel for map(to : a[0:N]) map(tofrom : sum) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += a[i];
    }
    return sum;
}
#endif

int main(int argc, char **argv) {
    struct node *n = malloc(sizeof *n);
    n->data = malloc(N * sizeof *n->data);
    for (int i = 0; i < N; i++) n->data[i] = 1;
#ifndef _OPENACC
    int there = 0;
    if (argc > 2) {
#pragma omp parallel
#pragma omp atomic
        there++;
    }
#endif
    printf("%g\n", argc > 1 ? sum_of(argv[1], n) : 0);
    return 0;
}
