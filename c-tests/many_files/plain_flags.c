/* A pipeline by flags that are neither volatile nor atomic, as OpenMP 2.5 allowed, and that are taken back by
   those who have waited for them: a value that is written twice is one too many. */
#include <omp.h>
#include <stdio.h>
enum { ROWS = 32, COLUMNS = 25, INNER = 1500 };
static double a[ROWS + 1][COLUMNS + 1];
static int full[65];
int main(void) {
    for (int i = 0; i <= ROWS; i++)
        for (int j = 0; j <= COLUMNS; j++) a[i][j] = (i == 0 || j == 0) ? 1.0 : 0.0;
    for (int r = 0; r < 4; r++) {
#pragma omp parallel
        {
            int t = omp_get_thread_num(), p = omp_get_num_threads();
            int lo = 1 + t * ROWS / p, hi = (t + 1) * ROWS / p;
            for (int j = 1; j <= COLUMNS; j++) {
                if (t > 0) {
                    while (full[t] == 0) {
#pragma omp flush
                    }
                    full[t] = 0;
#pragma omp flush
                }
                for (int i = lo; i <= hi; i++) {
                    double x = a[i - 1][j] + a[i][j - 1];
                    for (int k = 0; k < INNER; k++) x = 0.5 * x + 0.1;
                    a[i][j] = x + 0.25 * a[i][j];
                }
                if (t + 1 < p) {
#pragma omp flush
                    while (full[t + 1] == 1) {
#pragma omp flush
                    }
                    full[t + 1] = 1;
#pragma omp flush
                }
            }
        }
    }
    printf("%.12e\n", a[ROWS][COLUMNS]);
}
