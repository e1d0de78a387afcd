/* NPB CG: the smallest eigenvalue of a sparse symmetric matrix by inverse iteration, conjugate gradients inside. */
#include "npb.h"

static int n, nonzer;
static long *row;
static int *col;
static double *val;

/* A sparse vector with `nonzer` random elements at random places, the way the specification builds it. */
static int sprnvc(uint64_t *seed, double *v, int *iv) {
    int nn1 = 1, nz = 0;
    while (nn1 < n) nn1 *= 2;
    while (nz < nonzer) {
        double e = npb_rand(seed), l = npb_rand(seed);
        int i = (int)(l * nn1) + 1, seen = 0;
        if (i > n) continue;
        for (int k = 0; k < nz; k++) seen |= iv[k] == i;
        if (!seen) v[nz] = e, iv[nz++] = i;
    }
    return nz;
}

/* A = sum of weighted outer products of sparse random vectors, plus (rcond - shift) on the diagonal. */
static void make_matrix(double shift) {
    const double rcond = 0.1;
    uint64_t seed = 314159265;
    npb_rand(&seed); /* the benchmark draws zeta's first value */
    int w = nonzer + 1;
    int *idx = malloc(sizeof(int) * n * w), *len = malloc(sizeof(int) * n);
    double *elt = malloc(sizeof(double) * n * w);
    long *start = calloc(n + 2, sizeof(long));
    for (int i = 0; i < n; i++) {
        double *v = elt + (long)i * w;
        int *iv = idx + (long)i * w, nz = sprnvc(&seed, v, iv), at = -1;
        for (int k = 0; k < nz; k++)
            if (iv[k] == i + 1) at = k;
        if (at >= 0) v[at] = 0.5;
        else v[nz] = 0.5, iv[nz++] = i + 1;
        len[i] = nz;
        for (int k = 0; k < nz; k++) start[iv[k]] += nz;
    }
    for (int i = 0; i < n; i++) start[i + 1] += start[i];
    long total = start[n];
    double *a = calloc(total, sizeof(double)), size = 1, ratio = pow(rcond, 1.0 / n);
    int *c = malloc(sizeof(int) * total);
    int *used = calloc(n, sizeof(int));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < len[i]; j++) {
            int r = idx[(long)i * w + j] - 1;
            double scale = size * elt[(long)i * w + j];
            for (int k = 0; k < len[i]; k++) {
                int cc = idx[(long)i * w + k] - 1;
                double x = elt[(long)i * w + k] * scale;
                if (cc == r && r == i) x += rcond - shift;
                long at = start[r];
                int m = 0;
                while (m < used[r] && c[at + m] != cc) m++;
                if (m == used[r]) c[at + m] = cc, used[r]++;
                a[at + m] += x;
            }
        }
        size *= ratio;
    }
    row = malloc(sizeof(long) * (n + 1));
    row[0] = 0;
    for (int i = 0; i < n; i++) row[i + 1] = row[i] + used[i];
    val = malloc(sizeof(double) * row[n]);
    col = malloc(sizeof(int) * row[n]);
    for (int i = 0; i < n; i++) {
        memcpy(val + row[i], a + start[i], sizeof(double) * used[i]);
        memcpy(col + row[i], c + start[i], sizeof(int) * used[i]);
    }
    free(idx), free(len), free(elt), free(start), free(a), free(c), free(used);
}

/* y = A x */
static void multiply(const double *x, double *y) {
    LOOP()
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (long k = row[i]; k < row[i + 1]; k++) s += val[k] * x[col[k]];
        y[i] = s;
    }
}

/* With -DPLACES=8 there are eight places in an iteration, the head of the loop among them. Of the six vectors
   x, z, p, q, r and t there live, in this order, 1, 4, 5, 4, 2, 3, 2 and 1. */
#if PLACES == 8
#define SPOT(...) { const size_t bytes = sizeof(double) * n; __VA_ARGS__; PLACE(); }
#else
#define SPOT(...)
#endif

static double part[1024];

/* The dot product, summed in fixed blocks in a fixed order: the same on any number of threads. */
static void dot(const double *a, const double *b, double *result) {
    enum { BLOCKS = 64 };
    LOOP()
    for (int k = 0; k < BLOCKS; k++) {
        double s = 0;
        for (int i = (long)n * k / BLOCKS; i < (int)((long)n * (k + 1) / BLOCKS); i++) s += a[i] * b[i];
        part[k] = s;
    }
#pragma omp single
    {
        double s = 0;
        for (int k = 0; k < BLOCKS; k++) s += part[k];
        *result = s;
    }
}

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    static const struct { char class; int n, nonzer, iterations; double shift, zeta; } classes[] = {
        {'S', 1400, 7, 15, 10, 8.5971775078648},
        {'W', 7000, 8, 15, 12, 10.362595087124},
        {'A', 14000, 11, 15, 20, 17.130235054029},
        {'B', 75000, 13, 75, 60, 22.712745482631},
    };
    size_t cl = 0;
    while (cl < 4 && classes[cl].class != class) cl++;
    if (cl == 4) return 2;
    n = classes[cl].n, nonzer = classes[cl].nonzer;
    int iterations = TIMES * classes[cl].iterations;
    double shift = classes[cl].shift, zeta = 0, rnorm = 0;
    make_matrix(shift);
    double *x = malloc(sizeof(double) * n), *z = malloc(sizeof(double) * n), *p = malloc(sizeof(double) * n);
    double *q = malloc(sizeof(double) * n), *r = malloc(sizeof(double) * n), *t = malloc(sizeof(double) * n);
    static double rho, rho0, d, xz, zz, rn;
    for (int i = 0; i < n; i++) x[i] = 1;
    for (int it = 1; it <= iterations; it++) {
        size_t bytes = sizeof(double) * n;
        DEAD(z, bytes), DEAD(p, bytes), DEAD(q, bytes), DEAD(r, bytes), DEAD(t, bytes);
        PLACE();
#pragma omp parallel
        {
            LOOP()
            for (int i = 0; i < n; i++) q[i] = 0, z[i] = 0, r[i] = x[i], p[i] = x[i];
            dot(r, r, &rho);
            for (int cg = 0; cg < 25; cg++) {
                SPOT(DEAD(q, bytes), DEAD(t, bytes))
                multiply(p, q);
                SPOT(DEAD(t, bytes))
                dot(p, q, &d);
                /* The updates write to a second array: an iteration can be executed again. */
                double alpha = rho / d;
                LOOP()
                for (int i = 0; i < n; i++) t[i] = z[i] + alpha * p[i];
                LOOP()
                for (int i = 0; i < n; i++) z[i] = t[i];
                LOOP()
                for (int i = 0; i < n; i++) t[i] = r[i] - alpha * q[i];
                LOOP()
                for (int i = 0; i < n; i++) r[i] = t[i];
                SPOT(DEAD(q, bytes), DEAD(t, bytes))
#pragma omp single
                rho0 = rho;
                dot(r, r, &rho);
                double beta = rho / rho0;
                LOOP()
                for (int i = 0; i < n; i++) t[i] = r[i] + beta * p[i];
                LOOP()
                for (int i = 0; i < n; i++) p[i] = t[i];
            }
            SPOT(DEAD(p, bytes), DEAD(q, bytes), DEAD(r, bytes), DEAD(t, bytes))
            multiply(z, r);
            SPOT(DEAD(p, bytes), DEAD(q, bytes), DEAD(t, bytes))
            LOOP()
            for (int i = 0; i < n; i++) t[i] = x[i] - r[i];
            dot(t, t, &rn);
            SPOT(DEAD(p, bytes), DEAD(q, bytes), DEAD(r, bytes), DEAD(t, bytes))
            dot(x, z, &xz);
            dot(z, z, &zz);
            SPOT(DEAD(x, bytes), DEAD(p, bytes), DEAD(q, bytes), DEAD(r, bytes), DEAD(t, bytes))
            LOOP()
            for (int i = 0; i < n; i++) x[i] = z[i] / sqrt(zz);
        }
        rnorm = sqrt(rn);
        zeta = shift + 1 / xz;
        if (it == 1 || it == iterations) printf("iteration %d residual %.6e zeta %.13f\n", it, rnorm, zeta);
    }
    return npb_verdict("CG", class, fabs(zeta - classes[cl].zeta) <= 1e-10);
}
