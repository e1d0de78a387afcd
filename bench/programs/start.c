/* What a program pays for being started with a runtime: `start` ends at once, `start N` has one region of N threads and prints how long
   it took, and the resident memory with the pool idle. */
#include "program.h"
#include <unistd.h>

static long long solve(int size) { return size; }

static long resident(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long all, pages = 0;
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv) {
    if (argc < 2) return 0;
    int n = atoi(argv[1]);
    long before = resident();
    double t = omp_get_wtime();
#pragma omp parallel num_threads(n)
    __asm__ volatile("");
    t = omp_get_wtime() - t;
    usleep(20000);
    printf("first region\t%.3f\nmemory\t%ld\nmemory before\t%ld\n", t * 1e6, resident() - before, before);
    return (int)solve(0);
}
