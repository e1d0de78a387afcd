/* Static arrays at a place for checkpoints: those named dead_ are written as a whole before they are read,
   on every way from there, and promp-cc is to find that out. Those named live_ are not, or it cannot be
   known. The sum does not depend on where the program is rolled back. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 3000, M = 60, STEPS = 600 };
static double dead_static[N], dead_dynamic[N], dead_rows[M][M], dead_serial[N], dead_called[N], dead_behind[N];
static double dead_nest[M][M], dead_offset[N], dead_tiles[M][M], live_tiles[M][M], dead_either[M][M];
static double live_update[N], dead_part[N], live_perhaps[N], live_nowait[N], live_address[N], live_visible[N];
static double live_branch[N], live_stride[N], dead_count[N], live_early[N], live_task[N], live_exit[N], live_later[N];
static double live_row[M][M], dead_gap[M][M], live_thread[N], live_twice[N], live_other[N], live_single[N];
double live_public[N];
static int n = N, rows = M;

__attribute__((noinline)) static void call(int t) {
#pragma omp for nowait
    for (int i = 0; i < N; i++) dead_called[i] = i * t;
}

__attribute__((noinline)) double visible(int i) { return live_visible[i]; }
static void at_exit(void) { printf("exit %g\n", live_exit[7] - live_exit[7]); }
static void *thread(void *a) {
    (void)a;
    return live_thread[5] > 1e300 ? (void *)1 : NULL;
}
__attribute__((noinline)) static double sum_of(const double *p) {
    double s = 0;
    for (int i = 0; i < N; i++) s += p[i];
    return s;
}

static double step(int t) {
    double s = 0;
#pragma omp parallel reduction(+ : s)
    {
#pragma omp for
        for (int i = 0; i < N; i++) dead_static[i] = i + t;
#pragma omp for schedule(dynamic, 16)
        for (int i = 0; i < N; i++) dead_dynamic[i] = dead_static[N - 1 - i];
#pragma omp for
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) dead_rows[i][j] = i * j + t;
        call(t);
#pragma omp barrier
#pragma omp for nowait
        for (int i = 0; i < N; i++) dead_behind[i] = dead_called[(i + 7) % N];
#pragma omp for
        for (int i = 0; i < N; i++) live_update[i] = live_update[i] * 0.5 + t;
#pragma omp for
        for (int i = 1; i < N; i++) dead_part[i] = dead_behind[N - i] + t;
#pragma omp for
        for (int i = 0; i < N; i++)
            if ((i + t) % 3) live_perhaps[i] = t;
#pragma omp for nowait schedule(static, 8)
        for (int i = 0; i < N; i++) live_nowait[i] = i ^ 5;
        s += live_nowait[0] * 0;
#pragma omp for
        for (int i = 0; i < N / 2; i++) live_stride[2 * i] = t;
#pragma omp for
        for (int i = 0; i < n; i++) dead_count[i] = t;
#pragma omp for
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M - 1; j++) live_row[i][j] = t;
#pragma omp for
        for (int i = 0; i < M; i++)
            for (int j = 0; j < rows; j++) dead_gap[i][j] = t + j;
#pragma omp for collapse(2)
        for (int i = 0; i < M; i++)
            for (int b = 0; b < M; b += 16)
                for (int j = b; j < b + 16 && j < M; j++) dead_tiles[i][j] = t + i;
#pragma omp for collapse(2)
        for (int i = 0; i < M; i++)
            for (int b = 0; b < M; b += 16)
                for (int j = b; j < b + 15 && j < M; j++) live_tiles[i][j] = t + j;
#pragma omp for
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) {
                int at = rows == M ? i * M : i;
                (&dead_either[0][0])[at + j] = t + i;
            }
#pragma omp for
        for (int i = 0; i < N; i++) live_thread[i] = i;
#pragma omp for
        for (int i = 0; i < N; i++) live_exit[i] = i;
#pragma omp for
        for (int i = 0; i < N; i++) live_visible[i] = i * 2;
#pragma omp for
        for (int i = 0; i < N; i++) live_public[i] = i * 3;
#pragma omp single
        for (int i = 0; i < N; i++) live_single[i] = i + 2 * t;
#pragma omp single
#pragma omp task
        for (int i = 0; i < N; i++) live_task[i] = i + t;
    }
    for (int i = 0; i < N; i++) dead_serial[i] = live_task[i] + live_single[i];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) dead_nest[i][j] = dead_rows[j][i];
    for (int i = 1; i <= N; i++) dead_offset[i - 1] = dead_serial[N - i];
    if (t % 2)
        for (int i = 0; i < N; i++) live_branch[i] = i + t;
    for (int i = 0; i < N; i++) {
        if (i > 10 && dead_offset[i] < 0) break;
        live_early[i] = i;
    }
    for (int i = 0; i < N; i++) live_address[i] = i + t;
    s += sum_of(live_address);
    if (t == STEPS - 1) return s + live_other[3];
    for (int i = 0; i < N; i++) live_other[i] = t;
    return s;
}

int main(void) {
    double s = 0;
    atexit(at_exit);
    pthread_t own;
    pthread_create(&own, NULL, thread, NULL);
    pthread_join(own, NULL);
    for (int i = 0; i < N; i++) live_later[i] = i, live_twice[i] = i;
    for (int t = 0; t < STEPS; t++) {
#pragma promp checkpoint
        if (t > STEPS / 2) s += live_later[t];
        for (int i = 0; i < N; i++) live_later[i] = i + t;
        s += live_twice[t % N];
        for (int i = 0; i < N; i++) live_twice[i] = t;
        s += step(t);
        for (int i = 0; i < N; i += 17)
            s += dead_static[i] + dead_dynamic[i] + dead_serial[i] + dead_called[i] + dead_behind[i] + dead_offset[i] +
                 live_update[i] + dead_part[i] + live_perhaps[i] + live_nowait[i] + visible(i) + live_branch[i] +
                 live_stride[i] + dead_count[i] + live_early[i] + live_public[i] + live_address[i];
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) s += dead_rows[i][j] + dead_nest[i][j] + live_row[i][j] + dead_gap[i][j] + dead_tiles[i][j] +
                                          live_tiles[i][j] + dead_either[i][j];
    }
    printf("%.17g\n", s);
    return 0;
}
