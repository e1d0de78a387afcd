// A program that locks all of its memory, and what it will have later, between its regions; pages of its file
// are first written to on the way. argv[1]: steps of 10 ms each. Prints sums, and what it has locked in MiB
// (more than a few hundred: address space that is only reserved has been filled).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096 / sizeof(long), PAGES = 256 };
static long initialized[PAGES * PAGE] = {1, 2, 3};

/* Counts in the next pages, most of which nobody has written to yet. */
static void count(int step) {
    for (int p = 0; p < PAGES / 60; p++) initialized[(step * (PAGES / 60) + p) % PAGES * PAGE + step]++;
}

static double sum(double *a, int n, int rounds) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) {
        double x = a[i];
        for (int k = 0; k < rounds; k++) x = x * 0.5 + i;
        a[i] = x;
        s += (long)x % 1000;
    }
    return s;
}

static long locked_mib(void) {
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "VmRSS:", 6)) kb = atol(line + 6);
    fclose(f);
    return kb / 1024;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 50, n = 1 << 17;
    double *a = calloc(n, sizeof *a), s = sum(a, n, 1);
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        puts("cannot lock");
        return 0;
    }
    for (int i = 0; i < steps; i++) {
        count(i);
        s += sum(a, n, 50);
    }
    double *b = calloc(n, sizeof *b); // locked, too
    for (int i = 0; i < steps; i++) s += sum(b, n, 50);
    long counted = 0;
    for (int i = 0; i < PAGES * PAGE; i++) counted += initialized[i];
    printf("%.0f %ld\n", s, counted);
    fprintf(stderr, "resident: %ld MiB\n", locked_mib());
    return 0;
}
