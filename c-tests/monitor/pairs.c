/* Bodies that attract each other: each pair is computed once, so that the first bodies have many partners
   and the last have few. With the compiler's schedule the first thread has most of the work; with -DDYNAMIC
   it is even. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int n;
static double *x, *v, *f;

/* Energy of all pairs; the force on each body from those behind it. */
static double forces(void) {
    double energy = 0;
#pragma omp parallel reduction(+ : energy)
    {
#ifdef DYNAMIC
#pragma omp for schedule(dynamic, 16)
#else
#pragma omp for
#endif
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = i + 1; j < n; j++) {
                double d = x[i] - x[j], r = sqrt(d * d + 0.01);
                sum += d / (r * r * r);
                energy += 1 / r;
            }
            f[i] = sum;
        }
    }
    return energy;
}

static void move(double dt) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        v[i] -= dt * f[i];
        x[i] += dt * v[i];
    }
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 2000;
    int steps = argc > 2 ? atoi(argv[2]) : 50;
    x = malloc(sizeof(double) * n), v = calloc(n, sizeof(double)), f = calloc(n, sizeof(double));
    for (int i = 0; i < n; i++) x[i] = (i * 7919 % 10007) * 0.01;
    double energy = 0;
    for (int s = 0; s < steps; s++) {
        energy = forces();
        move(1e-6);
    }
    printf("energy %.6e\n", energy);
    return !(energy > 0);
}
