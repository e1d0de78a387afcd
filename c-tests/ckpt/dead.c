/* A program that says which of its arrays are dead where a checkpoint may be taken. The first argument
   says where: serial code (s) or a region (r); the second how many steps. Pointers are swapped, arrays
   are dead in part, and what is dead is written again before it is read: the sum does not depend on where
   it was rolled back. The third makes it special: (w) says of a live array that it is dead; (l) only one
   thread of the team says something; (h) has a handler for a signal; (t) has a thread of its own at work.
   */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void promp_dead(const void *start, size_t bytes) __attribute__((weak));
void promp_potential_ckpt(void) __attribute__((weak));

enum { N = 200000, STEPS = 400 };
static double fixed[N];
static double *live, *next, *scratch;
static char special;

static void handler(int s) { (void)s; }
static void *work(void *a) {
    for (;;) ++*(volatile long *)a;
    return a;
}

static void place(void) {
    if (!promp_dead || (special == 'l' && omp_get_thread_num() > 0)) return;
    if (special == 'w') promp_dead(live, N * sizeof *live);
    promp_dead(next, N * sizeof *next);
    promp_dead(scratch, N / 2 * sizeof *scratch);
    promp_dead(fixed + N / 4, N / 2 * sizeof *fixed);
    promp_potential_ckpt();
}

/* scratch's second half and fixed's outer parts carry values from step to step. */
static void step(int t) {
#pragma omp for
    for (int i = 0; i < N / 2; i++) scratch[i] = live[2 * i] * 0.5 + t;
#pragma omp for
    for (int i = N / 4; i < N / 4 + N / 2; i++) fixed[i] = live[i] + scratch[N / 2 + i % (N / 2)];
#pragma omp for
    for (int i = 0; i < N / 2; i++) scratch[N / 2 + i] = scratch[N / 2 + i] * 0.25 + scratch[i];
#pragma omp for
    for (int i = 0; i < N; i++) next[i] = live[i] * 0.5 + fixed[i] * 0.125 + scratch[i] / 16 + fixed[i / 4];
#pragma omp single
    {
        double *s = live;
        live = next, next = s;
    }
}

int main(int argc, char **argv) {
    int region = argc > 1 && argv[1][0] == 'r', steps = argc > 2 ? atoi(argv[2]) : STEPS;
    special = argc > 3 ? argv[3][0] : 0;
    if (special == 'h') signal(SIGUSR1, handler);
    static long count;
    pthread_t own;
    if (special == 't') pthread_create(&own, NULL, work, &count);
    live = malloc(N * sizeof *live), next = malloc(N * sizeof *next);
    scratch = malloc(N * sizeof *scratch);
    for (int i = 0; i < N; i++) live[i] = i % 97, scratch[i] = i % 13, fixed[i] = i % 7;
    if (region) {
#pragma omp parallel
        for (int t = 0; t < steps; t++) {
            place();
            step(t);
        }
    } else
        for (int t = 0; t < steps; t++) {
            place();
#pragma omp parallel
            step(t);
        }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += live[i] * (i % 5) + scratch[i] + fixed[i];
    printf("%.17g\n", sum);
    return 0;
}
