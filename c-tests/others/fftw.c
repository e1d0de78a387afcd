/* A planned 3-D transform there and back with FFTW's OpenMP threads. */
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
int main(void) {
    int n = 48;
    fftw_init_threads();
    fftw_plan_with_nthreads(4);
    fftw_complex *a = fftw_malloc(sizeof(fftw_complex) * n * n * n);
    fftw_plan f = fftw_plan_dft_3d(n, n, n, a, a, FFTW_FORWARD, FFTW_ESTIMATE), b = fftw_plan_dft_3d(n, n, n, a, a, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (int i = 0; i < n * n * n; i++) a[i][0] = sin(i), a[i][1] = cos(2.0 * i);
    double s = 0, worst = 0;
    for (int r = 0; r < 10; r++) {
        fftw_execute(f);
        s += a[r * 101][0];
        fftw_execute(b);
        for (int i = 0; i < n * n * n; i++) a[i][0] /= (double)n * n * n, a[i][1] /= (double)n * n * n;
    }
    for (int i = 0; i < n * n * n; i++) worst = fmax(worst, fabs(a[i][0] - sin(i)));
    printf("fftw %.6e back %s\n", s, worst < 1e-10 ? "exact" : "WRONG");
    return 0;
}
