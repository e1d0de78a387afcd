/* A program that binds itself to one CPU before it uses OpenMP: how many threads does a region have? */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void) {
    cpu_set_t all, one;
    int cpu = 0, threads = 0;
    sched_getaffinity(0, sizeof all, &all);
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
#pragma omp parallel reduction(+ : threads)
    threads++;
    printf("%d thread%s, %d processor%s\n", threads, threads > 1 ? "s" : "", omp_get_num_procs(), omp_get_num_procs() > 1 ? "s" : "");
    return 0;
}
