/* Nested teams: every member of the outer team is the primary thread of an inner one. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    enum { O = 3, I = 3, N = 600 };
    static double out[O][N];
    omp_set_max_active_levels(2);
    for (int r = 0; r < 6; r++) {
#pragma omp parallel num_threads(O)
        {
            int o = omp_get_thread_num();
#pragma omp parallel for num_threads(I) schedule(dynamic, 10)
            for (int i = 0; i < N; i++) {
                double x = i + o;
                for (int k = 0; k < 200; k++) x = x * 0.99 + 0.25 * r;
                out[o][i] = x;
            }
        }
    }
    double s = 0;
    for (int o = 0; o < O; o++)
        for (int i = 0; i < N; i++) s += out[o][i] * (i % 5 + 1);
    printf("nested %.10f\n", s);
    return 0;
}
