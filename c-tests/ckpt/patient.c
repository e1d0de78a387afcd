#define _GNU_SOURCE
/* Waits for its first checkpoint, in a region with barriers; then adds up a series in a second region, with a barrier a term.
   argv[1] = the directory of the checkpoints. What is printed does not depend on how long the first region took: the sum, and the
   CPUs that each thread may run on. */
#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
static int complete(const char *dir) {
    DIR *d = opendir(dir);
    int found = 0;
    for (struct dirent *e; d && (e = readdir(d));) found |= strncmp(e->d_name, "gen-", 4) == 0;
    if (d) closedir(d);
    return found;
}
int main(int argc, char **argv) {
    int ready = argc < 2;
    double sum[64] = {0}, total = 0;
#pragma omp parallel
    while (!ready) {
#pragma omp barrier
#pragma omp single
        ready = complete(argv[1]);
    }
#pragma omp parallel num_threads(4)
    for (int k = 0; k < 50; k++) {
        sum[omp_get_thread_num() * 8] += 1.0 / (1 + k * 4 + omp_get_thread_num());
#pragma omp barrier
    }
    for (int t = 0; t < 4; t++) total += sum[t * 8];
    printf("%.12f\n", total);
#pragma omp parallel for ordered schedule(static, 1) num_threads(4)
    for (int t = 0; t < 4; t++)
#pragma omp ordered
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        printf("%d:", t);
        for (int c = 0; c < CPU_SETSIZE; c++)
            if (CPU_ISSET(c, &set)) printf(" %d", c);
        puts("");
    }
    return 0;
}
