/* Writes results to files while it computes: what is in them at the end must be as if nothing had happened. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char name[4096];
    const char *dir = argv[1];
    int steps = argc > 2 ? atoi(argv[2]) : 60;
    snprintf(name, sizeof name, "%s/log", dir);
    FILE *log = fopen(name, "w");
    snprintf(name, sizeof name, "%s/input", dir);
    FILE *in = fopen(name, "r");
    double *a = calloc(100000, sizeof *a);
    if (!log || !in) return 1;
    for (int step = 0; step < steps; step++) {
        int k = 0;
        if (fscanf(in, "%d", &k) != 1) return 2;
#pragma omp parallel for
        for (int i = 0; i < 100000; i++) a[i] = a[i] * 0.5 + (i % 7) * k + step;
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 100000; i++) sum += (long)a[i];
        fprintf(log, "step %d sum %.0f\n", step, sum);
        if (step % 5 == 0) fflush(log);
        if (step == steps / 2) { /* a file of its own, opened in the middle */
            snprintf(name, sizeof name, "%s/middle", dir);
            FILE *m = fopen(name, "w");
            for (int i = 0; i < 5000; i++) fprintf(m, "%d %f\n", i, a[i]);
            fclose(m);
        }
        /* time for something to happen */
        double until = omp_get_wtime() + 0.01;
#pragma omp parallel
        while (omp_get_wtime() < until) {}
    }
    fclose(log);
    printf("finished\n");
    return 0;
}
