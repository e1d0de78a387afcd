/* LU factorization of a sparse matrix of blocks; a task a block, ordered by dependences on the blocks. */
#include "program.h"

enum { B = 16 };
typedef double block[B][B];

static void factor(block a) {
    for (int k = 0; k < B; k++)
        for (int i = k + 1; i < B; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < B; j++) a[i][j] -= a[i][k] * a[k][j];
        }
}
static void forward(block d, block a) {
    for (int k = 0; k < B; k++)
        for (int i = k + 1; i < B; i++)
            for (int j = 0; j < B; j++) a[i][j] -= d[i][k] * a[k][j];
}
static void divide(block d, block a) {
    for (int i = 0; i < B; i++)
        for (int k = 0; k < B; k++) {
            a[i][k] /= d[k][k];
            for (int j = k + 1; j < B; j++) a[i][j] -= a[i][k] * d[k][j];
        }
}
static void update(block l, block u, block a) {
    for (int i = 0; i < B; i++)
        for (int k = 0; k < B; k++)
            for (int j = 0; j < B; j++) a[i][j] -= l[i][k] * u[k][j];
}

static long long solve(int n) {
    block **m = calloc((size_t)n * (size_t)n, sizeof *m);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (i != j && mix((uint64_t)(i * n + j)) % 100 >= 35) continue;
            block *b = m[i * n + j] = malloc(sizeof(block));
            for (int x = 0; x < B; x++)
                for (int y = 0; y < B; y++)
                    (*b)[x][y] = (double)(mix((uint64_t)((i * n + j) * B * B + x * B + y)) >> 40) * 1e-8 + (i == j && x == y ? 100 : 0);
        }
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < n; k++) {
        block *d = m[k * n + k];
#pragma omp task depend(inout : d[0])
        factor(*d);
        for (int j = k + 1; j < n; j++)
            if (m[k * n + j]) {
                block *a = m[k * n + j];
#pragma omp task depend(in : d[0]) depend(inout : a[0])
                forward(*d, *a);
            }
        for (int i = k + 1; i < n; i++)
            if (m[i * n + k]) {
                block *a = m[i * n + k];
#pragma omp task depend(in : d[0]) depend(inout : a[0])
                divide(*d, *a);
            }
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                if (m[i * n + k] && m[k * n + j]) {
                    if (!m[i * n + j]) m[i * n + j] = calloc(1, sizeof(block));
                    block *l = m[i * n + k], *u = m[k * n + j], *a = m[i * n + j];
#pragma omp task depend(in : l[0], u[0]) depend(inout : a[0])
                    update(*l, *u, *a);
                }
    }
    uint64_t r = 0;
    for (int i = 0; i < n * n; i++)
        if (m[i]) {
            uint64_t bits[B * B];
            memcpy(bits, m[i], sizeof bits);
            for (int x = 0; x < B * B; x++) r = mix(r ^ bits[x]);
            free(m[i]);
        }
    free(m);
    return (long long)(r >> 1);
}
PROGRAM(24)
