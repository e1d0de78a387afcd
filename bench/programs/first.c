/* What of a program's start can be counted: `first WHAT` executes nothing (end), one region of two threads
   (region), that and one task (task). `first mapped` prints the kilobytes of files that are in memory
   behind a region, and those of the process's own (smaps_rollup). */
#include <stdio.h>
#include <string.h>

static volatile int done;

static void mapped(void) {
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long rss = 0, anonymous = 0;
    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "Rss: %ld", &rss);
        sscanf(line, "Anonymous: %ld", &anonymous);
    }
    if (f) fclose(f);
    printf("%ld %ld\n", rss - anonymous, anonymous);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "end";
    if (!strcmp(what, "end")) return 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        if (strcmp(what, "task") == 0) {
#pragma omp task
            done = 1;
#pragma omp taskwait
        }
    }
    if (!strcmp(what, "mapped")) mapped();
    return 0;
}
