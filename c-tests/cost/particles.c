/* Particles in structures: forces among neighbours of cells, moved in place, sorted into cells. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double r[3], v[3], a[3], e; int cell; } Particle;
typedef struct { Particle *p; int *first, *order; int n, side; double box; } System;

static void find_cells(System *s) {
#pragma omp parallel for
    for (int i = 0; i < s->n; i++) {
        Particle *p = &s->p[i];
        int c = 0;
        for (int d = 0; d < 3; d++) {
            p->r[d] -= s->box * floor(p->r[d] / s->box);
            c = c * s->side + (int) (p->r[d] / s->box * s->side) % s->side;
        }
        p->cell = c;
    }
    int cells = s->side * s->side * s->side;
    memset(s->first, 0, (cells + 1) * sizeof(int));
    for (int i = 0; i < s->n; i++) s->first[s->p[i].cell + 1]++;
    for (int c = 0; c < cells; c++) s->first[c + 1] += s->first[c];
    for (int i = s->n - 1; i >= 0; i--) s->order[--s->first[s->p[i].cell + 1]] = i;
    for (int c = 0; c < cells; c++) s->first[c] = s->first[c + 1];
    s->first[cells] = s->n;
}
static double forces(System *s) {
    double energy = 0;
#pragma omp parallel for reduction(+ : energy) schedule(dynamic, 16)
    for (int i = 0; i < s->n; i++) {
        Particle *p = &s->p[i];
        p->a[0] = p->a[1] = p->a[2] = p->e = 0;
        int n = s->side, z = p->cell % n, y = p->cell / n % n, x = p->cell / n / n;
        for (int k = 0; k < 27; k++) {
            int c = ((x + k / 9 - 1 + n) % n * n + (y + k / 3 % 3 - 1 + n) % n) * n + (z + k % 3 - 1 + n) % n;
            for (int m = s->first[c]; m < s->first[c + 1]; m++) {
                int j = s->order[m];
                if (j == i) continue;
                double d[3], q = 0;
                for (int l = 0; l < 3; l++) {
                    d[l] = p->r[l] - s->p[j].r[l];
                    d[l] -= s->box * rint(d[l] / s->box);
                    q += d[l] * d[l];
                }
                if (q > 1) continue;
                double w = 1 - q, f = w * w;
                p->e += f;
                for (int l = 0; l < 3; l++) p->a[l] += f * d[l];
            }
        }
        energy += p->e;
    }
    return energy;
}
static void move(System *s, double dt) {
#pragma omp parallel for
    for (int i = 0; i < s->n; i++)
        for (int d = 0; d < 3; d++) {
            s->p[i].v[d] += dt * s->p[i].a[d];
            s->p[i].r[d] += dt * s->p[i].v[d];
        }
}
int main(int argc, char **argv) {
    System s = {.n = argc > 1 ? atoi(argv[1]) : 3000, .side = 8, .box = 8};
    s.p = calloc(s.n, sizeof *s.p);
    s.first = calloc(513, sizeof(int));
    s.order = calloc(s.n, sizeof(int));
    unsigned x = 1;
    for (int i = 0; i < s.n; i++)
        for (int d = 0; d < 3; d++) x = x * 1103515245 + 12345, s.p[i].r[d] = 8.0 * (x >> 8) / (1 << 24);
    double e = 0;
    int steps = 5 * (argc > 2 ? atoi(argv[2]) : 1);
    for (int t = 0; t < steps; t++) find_cells(&s), e += forces(&s), move(&s, 0.01);
    printf("%.9e\n", e);
}
