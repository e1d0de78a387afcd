/* Shallow-water equations on a torus by finite differences, in the manner of SPEC's Swim: seven kernels a
   step, which Swim has in three functions. Usage: swim [N [STEPS]]. Prints checksums of pressure and
   velocities. With -DCALLS each of the three calls is a section by hand (docs/internals/silent-errors.md). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static double *field(size_t n) {
    double *p = malloc(n * sizeof *p);
    if (!p) exit(3);
    for (size_t i = 0; i < n; i++) p[i] = 0;
    return p;
}
#define AT(i, j) ((size_t)(i) * m + (j))
#define KERNEL _Pragma("omp target teams distribute parallel for")

#ifdef CALLS
void promp_sdc_checkpoint(void) __attribute__((weak));
void promp_sdc_detect(void) __attribute__((weak));
#define CALL() (promp_sdc_checkpoint ? promp_sdc_checkpoint() : (void)0)
#define RETURN() (promp_sdc_detect ? promp_sdc_detect() : (void)0)
#else
#define CALL() ((void)0)
#define RETURN() ((void)0)
#endif

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 255, steps = argc > 2 ? atoi(argv[2]) : 50, m = n + 1;
    const size_t all = (size_t)m * m;
    const double dx = 1e5, dy = 1e5, dt = 90, a = 1e6, alpha = 0.001, el = n * dx, pi = 4 * atan(1.0);
    const double di = 2 * pi / n;
    const double pcf = pi * pi * a * a / (el * el), fsdx = 4 / dx, fsdy = 4 / dy;
    double *u = field(all), *v = field(all), *p = field(all);
    double *unew = field(all), *vnew = field(all), *pnew = field(all);
    double *uold = field(all), *vold = field(all), *pold = field(all), *cu = field(all), *cv = field(all);
    double *z = field(all), *h = field(all), *psi = field(all);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            psi[AT(i, j)] = a * sin((i + 0.5) * di) * sin((j + 0.5) * di);
            p[AT(i, j)] = pcf * (cos(2 * i * di) + cos(2 * j * di)) + 50000;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            u[AT(i + 1, j)] = -(psi[AT(i + 1, j + 1)] - psi[AT(i + 1, j)]) / dy;
            v[AT(i, j + 1)] = (psi[AT(i + 1, j + 1)] - psi[AT(i, j + 1)]) / dx;
        }
    for (int j = 0; j < n; j++) u[AT(0, j)] = u[AT(n, j)], v[AT(n, j + 1)] = v[AT(0, j + 1)];
    for (int i = 0; i < n; i++) u[AT(i + 1, n)] = u[AT(i + 1, 0)], v[AT(i, 0)] = v[AT(i, n)];
    u[AT(0, n)] = u[AT(n, 0)], v[AT(n, 0)] = v[AT(0, n)];
    for (size_t k = 0; k < all; k++) uold[k] = u[k], vold[k] = v[k], pold[k] = p[k];
    double tdt = dt, sp = 0, su = 0, sv = 0, start = 0;
#pragma omp target data map(tofrom : u[0 : all], v[0 : all], p[0 : all]) \
    map(to : uold[0 : all], vold[0 : all], pold[0 : all]) \
    map(alloc : unew[0 : all], vnew[0 : all], pnew[0 : all], cu[0 : all], cv[0 : all], z[0 : all], h[0 : all])
    {
        start = now();
        for (int step = 0; step < steps; step++) {
            CALL();
            KERNEL
            for (int k = 0; k < n * n; k++) { /* 1: mass fluxes, potential vorticity, height */
                const int i = k / n, j = k % n;
                cu[AT(i + 1, j)] = 0.5 * (p[AT(i + 1, j)] + p[AT(i, j)]) * u[AT(i + 1, j)];
                cv[AT(i, j + 1)] = 0.5 * (p[AT(i, j + 1)] + p[AT(i, j)]) * v[AT(i, j + 1)];
                z[AT(i + 1, j + 1)] = (fsdx * (v[AT(i + 1, j + 1)] - v[AT(i, j + 1)]) -
                                       fsdy * (u[AT(i + 1, j + 1)] - u[AT(i + 1, j)])) /
                                      (p[AT(i, j)] + p[AT(i + 1, j)] + p[AT(i + 1, j + 1)] + p[AT(i, j + 1)]);
                h[AT(i, j)] = p[AT(i, j)] +
                              0.25 * (u[AT(i + 1, j)] * u[AT(i + 1, j)] + u[AT(i, j)] * u[AT(i, j)] +
                                      v[AT(i, j + 1)] * v[AT(i, j + 1)] + v[AT(i, j)] * v[AT(i, j)]);
            }
            KERNEL
            for (int j = 0; j < n; j++) { /* 2: the torus closes in the first direction */
                cu[AT(0, j)] = cu[AT(n, j)];
                cv[AT(n, j + 1)] = cv[AT(0, j + 1)];
                z[AT(0, j + 1)] = z[AT(n, j + 1)];
                h[AT(n, j)] = h[AT(0, j)];
            }
            KERNEL
            for (int i = 0; i < m; i++) { /* 3: ... and in the second */
                if (i < n) {
                    cu[AT(i + 1, n)] = cu[AT(i + 1, 0)];
                    cv[AT(i, 0)] = cv[AT(i, n)];
                    z[AT(i + 1, 0)] = z[AT(i + 1, n)];
                    h[AT(i, n)] = h[AT(i, 0)];
                } else {
                    cu[AT(0, n)] = cu[AT(n, 0)];
                    cv[AT(n, 0)] = cv[AT(0, n)];
                    z[AT(0, 0)] = z[AT(n, n)];
                    h[AT(n, n)] = h[AT(0, 0)];
                }
            }
            RETURN();
            const double t8 = tdt / 8, tx = tdt / dx, ty = tdt / dy;
            CALL();
            KERNEL
            for (int k = 0; k < n * n; k++) { /* 4: the next values */
                const int i = k / n, j = k % n;
                unew[AT(i + 1, j)] = uold[AT(i + 1, j)] +
                                     t8 * (z[AT(i + 1, j + 1)] + z[AT(i + 1, j)]) *
                                         (cv[AT(i + 1, j + 1)] + cv[AT(i, j + 1)] + cv[AT(i, j)] +
                                          cv[AT(i + 1, j)]) -
                                     tx * (h[AT(i + 1, j)] - h[AT(i, j)]);
                vnew[AT(i, j + 1)] = vold[AT(i, j + 1)] -
                                     t8 * (z[AT(i + 1, j + 1)] + z[AT(i, j + 1)]) *
                                         (cu[AT(i + 1, j + 1)] + cu[AT(i, j + 1)] + cu[AT(i, j)] +
                                          cu[AT(i + 1, j)]) -
                                     ty * (h[AT(i, j + 1)] - h[AT(i, j)]);
                pnew[AT(i, j)] = pold[AT(i, j)] - tx * (cu[AT(i + 1, j)] - cu[AT(i, j)]) -
                                 ty * (cv[AT(i, j + 1)] - cv[AT(i, j)]);
            }
            KERNEL
            for (int j = 0; j < n; j++) { /* 5 */
                unew[AT(0, j)] = unew[AT(n, j)];
                vnew[AT(n, j + 1)] = vnew[AT(0, j + 1)];
                pnew[AT(n, j)] = pnew[AT(0, j)];
            }
            KERNEL
            for (int i = 0; i < m; i++) { /* 6 */
                if (i < n) {
                    unew[AT(i + 1, n)] = unew[AT(i + 1, 0)];
                    vnew[AT(i, 0)] = vnew[AT(i, n)];
                    pnew[AT(i, n)] = pnew[AT(i, 0)];
                } else {
                    unew[AT(0, n)] = unew[AT(n, 0)];
                    vnew[AT(n, 0)] = vnew[AT(0, n)];
                    pnew[AT(n, n)] = pnew[AT(0, 0)];
                }
            }
            RETURN();
            const double al = step ? alpha : 0;
            CALL();
            KERNEL
            for (int k = 0; k < m * m; k++) { /* 7: smoothing in time */
                uold[k] = u[k] + al * (unew[k] - 2 * u[k] + uold[k]);
                vold[k] = v[k] + al * (vnew[k] - 2 * v[k] + vold[k]);
                pold[k] = p[k] + al * (pnew[k] - 2 * p[k] + pold[k]);
                u[k] = unew[k], v[k] = vnew[k], p[k] = pnew[k];
            }
            RETURN();
            tdt = 2 * dt;
        }
    }
    fprintf(stderr, "seconds %.6f\n", now() - start);
    for (size_t k = 0; k < all; k++) sp += fabs(p[k]), su += fabs(u[k]), sv += fabs(v[k]);
    printf("%.17g %.17g %.17g\n", sp, su, sv);
    return 0;
}
