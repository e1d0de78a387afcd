/* NPB BT: the compressible Navier-Stokes equations on a cube, five coupled fields, in time steps of an
   alternating-direction implicit scheme: in each step a right-hand side, and along x, y and z one
   block-tridiagonal system a line, with blocks of 5x5 from the Jacobians of the convective flux and of the
   viscous one.

   The whole time loop is one parallel region. Each direction goes as in NPB 2.3: blocks (lhsx), elimination
   (x_solve_cell: first cells, then all others) and back substitution (x_backsubstitute), each a loop over
   planes of lines that ends in a barrier. */
#include "npb.h"
#include "bt.h"
#include <omp.h>

enum { X, Y, Z, MOST = 102 };
typedef double Field[5]; /* density, momentum along x, y and z, energy */
typedef double Matrix[5][5];
typedef struct { Matrix below, on, above; } Row; /* of a system: the cell before, this one, the next one */
typedef struct { size_t at, stride; } Line;      /* its first cell, and from cell to cell */

static int n;
static double dt, step; /* of time; between cells */
static Field *u, *rhs, *forcing;
static Row *lhs;

static size_t cells(void) { return (size_t)n * n * n; }
static inline size_t at(int i, int j, int k) { return ((size_t)k * n + j) * n + i; }

/* Line (p, q) of a direction: of the plane k = p; for z, which crosses these, of the plane j = p. */
static inline Line line(int direction, int p, int q) {
    if (direction == X) return (Line){at(0, q, p), 1};
    if (direction == Y) return (Line){at(q, 0, p), n};
    return (Line){at(q, p, 0), (size_t)n * n};
}

/* Runs BODY for all lines inside the cube, a plane of them an iteration. */
#define LINES(direction, BODY)                       \
    LOOP()                                           \
    for (int p = 1; p < n - 1; p++)                  \
        for (int q = 1; q < n - 1; q++) {            \
            Line l = line(direction, p, q);          \
            BODY;                                    \
        }
/* A function whose loops are segments of their own, by its name. */
#define SEGMENTS static __attribute__((noinline)) void

static void exact_solution(const double x[3], Field out) {
    for (int m = 0; m < 5; m++) {
        const double *c = ce[m];
        out[m] = c[0];
        for (int d = 0; d < 3; d++)
            out[m] += x[d] * (c[1 + d] + x[d] * (c[4 + d] + x[d] * (c[7 + d] + x[d] * c[10 + d])));
    }
}

/* u is the exact solution everywhere. */
SEGMENTS exact_everywhere(void) {
    LOOP()
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                exact_solution((double[]){i * step, j * step, k * step}, u[at(i, j, k)]);
}

/* u inside the cube is interpolated between the faces, where it is exact. */
SEGMENTS initialize(void) {
    LOOP()
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++) {
                double x[3] = {i * step, j * step, k * step};
                Field between[3];
                for (int d = 0; d < 3; d++) {
                    double face[3] = {x[0], x[1], x[2]};
                    Field low, high;
                    face[d] = 0, exact_solution(face, low);
                    face[d] = 1, exact_solution(face, high);
                    for (int m = 0; m < 5; m++) between[d][m] = x[d] * high[m] + (1 - x[d]) * low[m];
                }
                for (int m = 0; m < 5; m++) {
                    double a = between[X][m], b = between[Y][m], c = between[Z][m];
                    u[at(i, j, k)][m] = a + b + c - a * b - a * c - b * c + a * b * c;
                }
            }
}

/* What the fluxes along a direction are made of, in one cell. */
typedef struct { double v[3], along, kinetic, square, inner; } Cell; /* square: of the momentum, halved */

static inline Cell cell(const Field f, int d) {
    double one = 1 / f[0];
    Cell c = {{f[1] * one, f[2] * one, f[3] * one}, 0, 0, 0, f[4] * one};
    c.along = c.v[d];
    c.square = 0.5 * (f[1] * f[1] + f[2] * f[2] + f[3] * f[3]) * one;
    c.kinetic = c.square * one;
    return c;
}

static inline double twice(double a, double b, double c) { return a - 2 * b + c; }

/* The fourth difference of a line of n cells, with what the boundary leaves of it. */
static inline double fourth_difference(const Field *f, int l, int m) {
    double s = (l == 1 || l == n - 2 ? 5 : 6) * f[l][m];
    if (l > 1) s -= 4 * f[l - 1][m];
    if (l > 2) s += f[l - 2][m];
    if (l < n - 2) s -= 4 * f[l + 1][m];
    if (l < n - 3) s += f[l + 2][m];
    return s;
}

/* Adds to `out` what flows into the cells of a line along direction d. */
static inline void fluxes(Line l, int d, Field *out) {
    Field f[MOST];
    Cell c[MOST];
    double t1 = 1 / (step * step), t2 = 1 / (2 * step), viscous = c3c4 * t1;
    for (int i = 0; i < n; i++) {
        memcpy(f[i], u[l.at + i * l.stride], sizeof(Field));
        c[i] = cell(f[i], d);
    }
    for (int i = 1; i < n - 1; i++) {
        const double *before = f[i - 1], *after = f[i + 1];
        const Cell *b = &c[i - 1], *o = &c[i], *a = &c[i + 1];
        double *r = out[l.at + i * l.stride];
        Field flux = {after[1 + d] - before[1 + d]};
        for (int e = 0; e < 3; e++) flux[1 + e] = after[1 + e] * a->along - before[1 + e] * b->along;
        flux[1 + d] += c2 * (after[4] - a->square - before[4] + b->square);
        flux[4] = (c1 * after[4] - c2 * a->square) * a->along - (c1 * before[4] - c2 * b->square) * b->along;
        for (int m = 0; m < 5; m++)
            r[m] += second[d] * t1 * twice(after[m], f[i][m], before[m]) - t2 * flux[m] -
                    fourth * fourth_difference(f, i, m);
        for (int e = 0; e < 3; e++)
            r[1 + e] += viscous * (e == d ? con43 : 1) * twice(a->v[e], o->v[e], b->v[e]);
        r[4] += viscous * (1 - c1 * c1) * twice(a->kinetic, o->kinetic, b->kinetic) +
                viscous / 6 * twice(a->along * a->along, o->along * o->along, b->along * b->along) +
                viscous * c1 * c1 * twice(a->inner, o->inner, b->inner);
    }
}

/* rhs = forcing + all that flows */
SEGMENTS compute_rhs(void) {
    LOOP()
    for (int k = 0; k < n; k++) memcpy(rhs[at(0, 0, k)], forcing[at(0, 0, k)], sizeof(Field) * n * n);
    LINES(X, fluxes(l, X, rhs))
    LINES(Y, fluxes(l, Y, rhs))
    LINES(Z, fluxes(l, Z, rhs))
}

/* The forcing keeps the exact solution where it is: it is what flows there, the other way round. */
SEGMENTS exact_rhs(void) {
    exact_everywhere();
    compute_rhs();
    LOOP()
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++)
                for (int m = 0; m < 5; m++) forcing[at(i, j, k)][m] = -rhs[at(i, j, k)][m];
}

/* rhs = dt rhs: what the systems of a step begin with. */
SEGMENTS scale_rhs(void) {
    LOOP()
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++)
                for (int m = 0; m < 5; m++) rhs[at(i, j, k)][m] *= dt;
}

/* The Jacobians of the convective flux (fjac) and of the viscous one (njac) along d. */
static inline void jacobians(const Field f, int d, Matrix fjac, Matrix njac) {
    double one = 1 / f[0], one2 = one * one, square = 0.5 * (f[1] * f[1] + f[2] * f[2] + f[3] * f[3]) * one;
    double kinetic = square * one, along = f[1 + d] * one, sum = 0;
    memset(fjac, 0, sizeof(Matrix)), memset(njac, 0, sizeof(Matrix));
    fjac[0][1 + d] = 1;
    for (int e = 1; e < 4; e++) {
        double c = (e == 1 + d ? con43 : 1) * c3c4;
        fjac[e][0] = -f[e] * f[1 + d] * one2;
        fjac[e][e] = along;
        fjac[e][1 + d] = f[e] * one;
        fjac[4][e] = -c2 * f[e] * f[1 + d] * one2;
        njac[e][0] = -c * one2 * f[e];
        njac[e][e] = c * one;
        njac[4][e] = (c - c1345) * one2 * f[e];
        sum += (c - c1345) * one2 * one * f[e] * f[e];
    }
    for (int e = 1; e < 4; e++) fjac[1 + d][e] -= c2 * f[e] * one;
    fjac[1 + d][0] += c2 * kinetic;
    fjac[1 + d][1 + d] = (2 - c2) * along;
    fjac[1 + d][4] = c2;
    fjac[4][0] = (c2 * 2 * square - c1 * f[4]) * f[1 + d] * one2;
    fjac[4][1 + d] += c1 * f[4] * one - c2 * kinetic;
    fjac[4][4] = c1 * along;
    njac[4][0] = -sum - c1345 * one2 * f[4];
    njac[4][4] = c1345 * one;
}

static inline void unit(Row *r) {
    memset(r, 0, sizeof *r);
    for (int m = 0; m < 5; m++) r->on[m][m] = 1;
}

/* The rows of a line's system: 1 - dt times the linearised operator; nothing changes at its ends. */
static inline void rows(Line l, int d) {
    Matrix fjac, njac;
    double t1 = dt / (step * step), t2 = dt / (2 * step), diagonal = t1 * second[d];
    Row *r = lhs + l.at;
    unit(r), unit(r + (n - 1) * l.stride);
    for (int i = 0; i < n; i++) {
        jacobians(u[l.at + i * l.stride], d, fjac, njac);
        Row *before = r + (i - 1) * l.stride, *here = before + l.stride, *after = here + l.stride;
        for (int a = 0; a < 5; a++)
            for (int b = 0; b < 5; b++) {
                double f = t2 * fjac[a][b], v = t1 * njac[a][b], same = a == b;
                if (i > 1) before->above[a][b] = f - v - same * diagonal;
                if (i > 0 && i < n - 1) here->on[a][b] = same + 2 * (v + same * diagonal);
                if (i < n - 2) after->below[a][b] = -f - v - same * diagonal;
            }
    }
}

/* b = 1, by which c = c / b and r = r / b (binvcrhs; without c, of the last cell, binvrhs). */
static inline void divide(Matrix b, Matrix c, Field r) {
    for (int p = 0; p < 5; p++) {
        double pivot = 1 / b[p][p];
        for (int q = p + 1; q < 5; q++) b[p][q] *= pivot;
        if (c)
            for (int q = 0; q < 5; q++) c[p][q] *= pivot;
        r[p] *= pivot;
        for (int o = 0; o < 5; o++) {
            if (o == p) continue;
            double factor = b[o][p];
            for (int q = p + 1; q < 5; q++) b[o][q] -= factor * b[p][q];
            if (c)
                for (int q = 0; q < 5; q++) c[o][q] -= factor * c[p][q];
            r[o] -= factor * r[p];
        }
    }
}

/* r -= a v (matvec_sub) */
static inline void subtract_vector(const Matrix a, const Field v, Field r) {
    for (int p = 0; p < 5; p++)
        for (int q = 0; q < 5; q++) r[p] -= a[p][q] * v[q];
}

/* b -= a c (matmul_sub) */
static inline void subtract_matrix(const Matrix a, const Matrix c, Matrix b) {
    for (int p = 0; p < 5; p++)
        for (int o = 0; o < 5; o++)
            for (int q = 0; q < 5; q++) b[p][q] -= a[p][o] * c[o][q];
}

static inline void first_cell(Line l) { divide(lhs[l.at].on, lhs[l.at].above, rhs[l.at]); }

static inline void other_cells(Line l) {
    for (int i = 1; i < n; i++) {
        size_t here = l.at + i * l.stride, before = here - l.stride;
        Row *r = &lhs[here];
        subtract_vector(r->below, rhs[before], rhs[here]);
        subtract_matrix(r->below, lhs[before].above, r->on);
        divide(r->on, i < n - 1 ? r->above : NULL, rhs[here]);
    }
}

static inline void backwards(Line l) {
    for (int i = n - 2; i >= 0; i--) {
        size_t here = l.at + i * l.stride;
        subtract_vector(lhs[here].above, rhs[here + l.stride], rhs[here]);
    }
}

SEGMENTS lhsx(void) { LINES(X, rows(l, X)) }
SEGMENTS lhsy(void) { LINES(Y, rows(l, Y)) }
SEGMENTS lhsz(void) { LINES(Z, rows(l, Z)) }
SEGMENTS x_solve_cell(void) {
    LINES(X, first_cell(l))
    LINES(X, other_cells(l))
}
SEGMENTS y_solve_cell(void) {
    LINES(Y, first_cell(l))
    LINES(Y, other_cells(l))
}
SEGMENTS z_solve_cell(void) {
    LINES(Z, first_cell(l))
    LINES(Z, other_cells(l))
}
SEGMENTS x_backsubstitute(void) { LINES(X, backwards(l)) }
SEGMENTS y_backsubstitute(void) { LINES(Y, backwards(l)) }
SEGMENTS z_backsubstitute(void) { LINES(Z, backwards(l)) }

SEGMENTS add(void) {
    LOOP()
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++)
                for (int m = 0; m < 5; m++) u[at(i, j, k)][m] += rhs[at(i, j, k)][m];
}

static void adi(void) {
    compute_rhs(), scale_rhs();
    lhsx(), x_solve_cell(), x_backsubstitute();
    lhsy(), y_solve_cell(), y_backsubstitute();
    lhsz(), z_solve_cell(), z_backsubstitute();
    add();
}

/* What a step leaves for the next one is u; the forcing stays. */
static void place(void) {
    DEAD(rhs, sizeof(Field) * cells());
    DEAD(lhs, sizeof(Row) * cells());
    PLACE();
}

static double root_mean(double squares) { return sqrt(squares / ((double)(n - 2) * (n - 2) * (n - 2))); }

/* Of each field over all cells: how far u is from the exact solution, and rhs, which is zero at the faces. */
static void norms(Field error, Field residual) {
    memset(error, 0, sizeof(Field)), memset(residual, 0, sizeof(Field));
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                Field exact;
                exact_solution((double[]){i * step, j * step, k * step}, exact);
                for (int m = 0; m < 5; m++) {
                    double e = u[at(i, j, k)][m] - exact[m], r = rhs[at(i, j, k)][m];
                    error[m] += e * e, residual[m] += r * r;
                }
            }
    for (int m = 0; m < 5; m++) error[m] = root_mean(error[m]), residual[m] = root_mean(residual[m]);
}

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    size_t c = 0;
    while (c < 4 && classes[c].name != class) c++;
    if (c == 4) return 2;
    n = classes[c].n, dt = classes[c].dt, step = 1.0 / (n - 1);
    u = calloc(cells(), sizeof(Field)), rhs = calloc(cells(), sizeof(Field));
    forcing = calloc(cells(), sizeof(Field)), lhs = calloc(cells(), sizeof(Row));
#pragma omp parallel
    {
        exact_rhs();
        initialize();
        for (int t = 0; t < TIMES * classes[c].steps; t++) {
            if (PLACES) place();
            adi();
        }
        compute_rhs();
    }
    Field error, residual;
    norms(error, residual);
    int ok = 1;
    for (int m = 0; m < 5; m++) {
        printf("field %d residual %.13e error %.13e\n", m + 1, residual[m], error[m]);
        if (TIMES > 1)
            ok &= isfinite(residual[m]) && isfinite(error[m]);
        else
            ok &= npb_close(residual[m], classes[c].residual[m], 1e-8) &&
                  npb_close(error[m], classes[c].error[m], 1e-8);
    }
    return npb_verdict("BT", class, ok);
}
