/* Locks in loops, in functions of the same file: what is done behind them can be executed again. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 400, M = 300, ROUNDS = 30 };
static omp_lock_t lock;
static omp_nest_lock_t nest;
static long taken;
static double rows[N][M];
static void enter(void) { omp_set_lock(&lock); }
static void leave(void) { omp_unset_lock(&lock); }
int main(void) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long nested = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) {
            enter();
            taken++;
            leave();
            for (int k = 0; k < M; k++) rows[i][k] = rows[i][k] * 0.5 + (k ? rows[i][k - 1] : i);
            omp_set_nest_lock(&nest);
            nested++;
            omp_unset_nest_lock(&nest);
            for (int k = M - 1; k >= 0; k--) rows[i][k] = rows[i][k] * 0.75 + k;
        }
    }
    double s = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) s = s * 0.999 + rows[i][k];
    printf("%ld %ld %.17g\n", taken, nested, s);
    return 0;
}
