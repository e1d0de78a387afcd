/* A pipeline made by hand: each thread works on its block of rows when its neighbour has done the column
   before it (flags and flushes). */
#include <omp.h>
#include <stdio.h>
enum { ROWS = 64, COLUMNS = 600, INNER = 60 };
static double a[ROWS + 1][COLUMNS + 1];
static volatile int done[65];
int main(void) {
    for (int i = 0; i <= ROWS; i++)
        for (int j = 0; j <= COLUMNS; j++) a[i][j] = (i == 0 || j == 0) ? 1.0 : 0.0;
    for (int r = 0; r < 10; r++) {
#pragma omp parallel
        {
            int t = omp_get_thread_num(), p = omp_get_num_threads();
            int lo = 1 + t * ROWS / p, hi = (t + 1) * ROWS / p;
            done[t + 1] = 0;
#pragma omp barrier
            for (int j = 1; j <= COLUMNS; j++) {
                if (t > 0)
                    while (done[t] < j) {
#pragma omp flush
                    }
                for (int i = lo; i <= hi; i++) {
                    double x = a[i - 1][j] + a[i][j - 1];
                    for (int k = 0; k < INNER; k++) x = 0.5 * x + 0.1;
                    a[i][j] = x;
                }
#pragma omp flush
                done[t + 1] = j;
#pragma omp flush
            }
        }
    }
    printf("%.12e\n", a[ROWS][COLUMNS]);
}
