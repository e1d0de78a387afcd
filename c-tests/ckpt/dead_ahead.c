/* A setup that lasts fills memory which is dead at the place that comes behind it. The first argument says
   for how many ms the program rests between the two. What the setup has filled is looked at, and would be
   written, before the checkpoint is due. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void promp_dead(const void *start, size_t bytes) __attribute__((weak));
void promp_potential_ckpt(void) __attribute__((weak));

enum { N = 4 << 20, LIVE = 1 << 16 };
static double scratch[N], live[LIVE];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Whatever comes is written to all of it first. */
static double step(int t) {
    double sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) scratch[i] = live[i % LIVE] + t + i % 7;
#pragma omp parallel for
    for (int i = 0; i < LIVE; i++) live[i] = live[i] * 0.5 + scratch[i] + scratch[N - 1 - i];
    for (int i = 0; i < LIVE; i++) sum += live[i];
    return sum;
}

int main(int argc, char **argv) {
    double until = now() + (argc > 1 ? atof(argv[1]) : 100) / 1000, sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) scratch[i] = i;
    /* Busy, in code of the program. */
    while (now() < until) sum += scratch[(int)sum % N] > 1e300;
    for (int t = 0; t < 60; t++) {
        if (promp_dead) promp_dead(scratch, sizeof scratch);
        if (promp_potential_ckpt) promp_potential_ckpt();
        sum += step(t);
    }
    printf("%.17g\n", sum);
}
