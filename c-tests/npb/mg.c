/* NPB MG: V-cycles of a multigrid solver for the Poisson equation on a periodic cubic grid.
   Every operator writes to another array than it reads, so that an iteration can be executed again. */
#include "npb.h"

typedef struct { int n; double *u, *r, *spare; } Level; /* interior 1..n in each direction, one ghost layer */

static size_t at(int n, int i, int j, int k) { return ((size_t)k * (n + 2) + j) * (n + 2) + i; }
static size_t volume(int n) { return (size_t)(n + 2) * (n + 2) * (n + 2); }

/* Periodic ghost layers; inside a parallel region. */
static void wrap(double *a, int n) {
    LOOP()
    for (int k = 1; k <= n; k++) {
        for (int j = 1; j <= n; j++) a[at(n, 0, j, k)] = a[at(n, n, j, k)], a[at(n, n + 1, j, k)] = a[at(n, 1, j, k)];
        for (int i = 0; i <= n + 1; i++) a[at(n, i, 0, k)] = a[at(n, i, n, k)], a[at(n, i, n + 1, k)] = a[at(n, i, 1, k)];
    }
    LOOP()
    for (int j = 0; j <= n + 1; j++)
        for (int i = 0; i <= n + 1; i++) a[at(n, i, j, 0)] = a[at(n, i, j, n)], a[at(n, i, j, n + 1)] = a[at(n, i, j, 1)];
}

/* Sums over the 6 faces, 12 edges and 8 corners around a point. */
static inline void around(const double *a, int n, int i, int j, int k, double s[3]) {
    size_t p = at(n, i, j, k), y = n + 2, z = (size_t)(n + 2) * (n + 2);
    s[0] = a[p - 1] + a[p + 1] + a[p - y] + a[p + y] + a[p - z] + a[p + z];
    s[1] = a[p - y - z] + a[p + y - z] + a[p - y + z] + a[p + y + z] + a[p - 1 - z] + a[p + 1 - z] + a[p - 1 + z] +
           a[p + 1 + z] + a[p - 1 - y] + a[p + 1 - y] + a[p - 1 + y] + a[p + 1 + y];
    s[2] = a[p - 1 - y - z] + a[p + 1 - y - z] + a[p - 1 + y - z] + a[p + 1 + y - z] + a[p - 1 - y + z] +
           a[p + 1 - y + z] + a[p - 1 + y + z] + a[p + 1 + y + z];
}

/* out = v - A u */
static void residual(const double *u, const double *v, double *out, int n) {
    LOOP()
    for (int k = 1; k <= n; k++)
        for (int j = 1; j <= n; j++)
            for (int i = 1; i <= n; i++) {
                double s[3];
                around(u, n, i, j, k, s);
                size_t p = at(n, i, j, k);
                out[p] = v[p] + 8.0 / 3.0 * u[p] - s[1] / 6.0 - s[2] / 12.0;
            }
    wrap(out, n);
}

static double c[3];

/* out = u + S r */
static void smooth(const double *r, const double *u, double *out, int n) {
    LOOP()
    for (int k = 1; k <= n; k++)
        for (int j = 1; j <= n; j++)
            for (int i = 1; i <= n; i++) {
                double s[3];
                around(r, n, i, j, k, s);
                size_t p = at(n, i, j, k);
                out[p] = u[p] + c[0] * r[p] + c[1] * s[0] + c[2] * s[1];
            }
    wrap(out, n);
}

/* coarse = P fine: half weighting */
static void restrict_to(const double *fine, double *coarse, int m) {
    LOOP()
    for (int k = 1; k <= m; k++)
        for (int j = 1; j <= m; j++)
            for (int i = 1; i <= m; i++) {
                double s[3];
                around(fine, 2 * m, 2 * i, 2 * j, 2 * k, s);
                coarse[at(m, i, j, k)] = 0.5 * fine[at(2 * m, 2 * i, 2 * j, 2 * k)] + 0.25 * s[0] + 0.125 * s[1] + 0.0625 * s[2];
            }
    wrap(coarse, m);
}

/* out = base (or 0) + Q coarse: trilinear interpolation */
static void interpolate(const double *coarse, const double *base, double *out, int m) {
    int n = 2 * m;
    LOOP()
    for (int k = 1; k <= n; k++)
        for (int j = 1; j <= n; j++)
            for (int i = 1; i <= n; i++) {
                double s = 0;
                for (int d = 0; d < 8; d++)
                    s += coarse[at(m, (i + (d & 1)) / 2, (j + (d >> 1 & 1)) / 2, (k + (d >> 2)) / 2)];
                size_t p = at(n, i, j, k);
                out[p] = (base ? base[p] : 0) + s / 8;
            }
    wrap(out, n);
}

static void zero(double *a, int n) {
    LOOP()
    for (int k = 0; k <= n + 1; k++) memset(a + at(n, 0, 0, k), 0, sizeof(double) * (n + 2) * (n + 2));
}

#define SWAP(a, b) { double *t_ = a; a = b; b = t_; }

static void swap_u(Level *l) {
#pragma omp single
    SWAP(l->u, l->spare)
}

/* The coarser levels are made anew in each V-cycle, and `spare` is where a result goes before it is swapped. At the
   head of the loop the residual of the finest level lives, too; before it is computed anew only the solution does. */
static void place(const Level *level, int top, int head) {
    for (int l = 1; l <= top; l++) {
        size_t bytes = sizeof(double) * volume(1 << l);
        DEAD(level[l].spare, bytes);
        if (l < top) DEAD(level[l].u, bytes);
        if (l < top || !head) DEAD(level[l].r, bytes);
    }
    PLACE();
}

/* v is +1 at the ten largest of the grid's random numbers, -1 at the ten smallest, else 0. */
static void charges(double *v, int n) {
    double big[10], small[10];
    size_t bigp[10], smallp[10];
    for (int m = 0; m < 10; m++) big[m] = 0, small[m] = 1, bigp[m] = smallp[m] = 0;
    uint64_t seed = 314159265;
    for (int k = 1; k <= n; k++)
        for (int j = 1; j <= n; j++)
            for (int i = 1; i <= n; i++) {
                double x = npb_rand(&seed);
                if (x > big[0]) {
                    int m = 0;
                    for (; m < 9 && x > big[m + 1]; m++) big[m] = big[m + 1], bigp[m] = bigp[m + 1];
                    big[m] = x, bigp[m] = at(n, i, j, k);
                }
                if (x < small[0]) {
                    int m = 0;
                    for (; m < 9 && x < small[m + 1]; m++) small[m] = small[m + 1], smallp[m] = smallp[m + 1];
                    small[m] = x, smallp[m] = at(n, i, j, k);
                }
            }
    for (int m = 0; m < 10; m++) v[bigp[m]] = 1, v[smallp[m]] = -1;
}

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    static const struct { char class; int log, iterations; double norm; } classes[] = {
        {'S', 5, 4, 0.5307707005734e-4},
        {'W', 7, 4, 0.6467329375339e-5},
        {'A', 8, 4, 0.2433365309069e-5},
        {'B', 8, 20, 0.1800564401355e-5},
    };
    size_t cl = 0;
    while (cl < 4 && classes[cl].class != class) cl++;
    if (cl == 4) return 2;
    int top = classes[cl].log, n = 1 << top;
    if (class == 'B') c[0] = -3.0 / 17, c[1] = 1.0 / 33, c[2] = -1.0 / 61;
    else c[0] = -3.0 / 8, c[1] = 1.0 / 32, c[2] = -1.0 / 64;
    Level level[12];
    for (int l = 1; l <= top; l++) {
        level[l].n = 1 << l;
        level[l].u = calloc(volume(1 << l), sizeof(double));
        level[l].r = calloc(volume(1 << l), sizeof(double));
        level[l].spare = calloc(volume(1 << l), sizeof(double));
    }
    double *v = calloc(volume(n), sizeof(double)), *part = calloc(n + 1, sizeof(double));
    charges(v, n);
#pragma omp parallel
    {
        wrap(v, n);
        residual(level[top].u, v, level[top].r, n);
        for (int it = 0; it < TIMES * classes[cl].iterations; it++) {
            if (PLACES == 1) place(level, top, 1);
#if PLACES == 3
#pragma promp checkpoint
#endif
            for (int l = top; l > 1; l--) restrict_to(level[l].r, level[l - 1].r, 1 << (l - 1));
            zero(level[1].u, 2);
            smooth(level[1].r, level[1].u, level[1].spare, 2);
            swap_u(&level[1]);
            for (int l = 2; l < top; l++) {
                interpolate(level[l - 1].u, NULL, level[l].u, 1 << (l - 1));
                residual(level[l].u, level[l].r, level[l].spare, 1 << l);
#pragma omp single
                SWAP(level[l].r, level[l].spare)
                smooth(level[l].r, level[l].u, level[l].spare, 1 << l);
                swap_u(&level[l]);
            }
            interpolate(level[top - 1].u, level[top].u, level[top].spare, n / 2);
            swap_u(&level[top]);
            residual(level[top].u, v, level[top].r, n);
            smooth(level[top].r, level[top].u, level[top].spare, n);
            swap_u(&level[top]);
            if (PLACES == 2) place(level, top, 0);
#if PLACES == 4
#pragma promp checkpoint
#endif
            residual(level[top].u, v, level[top].r, n);
        }
        LOOP()
        for (int k = 1; k <= n; k++) {
            double s = 0;
            for (int j = 1; j <= n; j++)
                for (int i = 1; i <= n; i++) s += level[top].r[at(n, i, j, k)] * level[top].r[at(n, i, j, k)];
            part[k] = s;
        }
    }
    double sum = 0;
    for (int k = 1; k <= n; k++) sum += part[k];
    double norm = sqrt(sum / ((double)n * n * n));
    printf("norm %.13e\n", norm);
    int ok = TIMES == 1 ? npb_close(norm, classes[cl].norm, 1e-8) : norm <= classes[cl].norm;
    return npb_verdict("MG", class, ok);
}
