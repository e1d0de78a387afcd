/* A graph: ranks by pulling, components by updates of labels under conditions. */
#include <stdio.h>
#include <stdlib.h>

typedef struct { int n, *start, *to; double *rank, *next, *share; int *label, *changed; } Graph;

static void pull(Graph *g) {
#pragma omp parallel for
    for (int i = 0; i < g->n; i++) g->share[i] = g->rank[i] / (g->start[i + 1] - g->start[i]);
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < g->n; i++) {
        double s = 0;
        for (int k = g->start[i]; k < g->start[i + 1]; k++) s += g->share[g->to[k]];
        g->next[i] = 0.15 / g->n + 0.85 * s;
    }
    double *t = g->rank;
    g->rank = g->next, g->next = t;
}
static int propagate(Graph *g, int *old) {
    int changes = 0;
#pragma omp parallel for reduction(+ : changes)
    for (int i = 0; i < g->n; i++) {
        int best = g->label[i];
        for (int k = g->start[i]; k < g->start[i + 1]; k++)
            if (old[g->to[k]] < best) best = old[g->to[k]];
        if (best < g->label[i]) g->label[i] = best, g->changed[i]++, changes++;
    }
#pragma omp parallel for
    for (int i = 0; i < g->n; i++) old[i] = g->label[i];
    return changes;
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 20000, times = argc > 2 ? atoi(argv[2]) : 1;
    Graph g = {n, malloc((n + 1) * 4L), malloc(n * 48L), malloc(n * 8L), malloc(n * 8L), malloc(n * 8L),
               malloc(n * 4L), calloc(n, 4)};
    int m = 0, *old = malloc(n * 4L), total = 0;
    for (int i = 0; i < n; i++) {
        g.start[i] = m;
        for (int k = 0; k < 4 + i % 8; k++) g.to[m++] = (int) ((i * 31L + k * k * 1009L) % n);
        g.rank[i] = 1.0 / n, g.label[i] = old[i] = (int) (i * 7919L % n);
    }
    g.start[n] = m;
    for (int t = 0; t < times; t++) {
        for (int i = 0; t && i < n; i++) g.label[i] = old[i] = (int) ((i + t) * 7919L % n);
        for (int s = 0; s < 10; s++) pull(&g);
        for (int s = 0; s < 10; s++) total += propagate(&g, old);
    }
    double sum = 0;
    for (int i = 0; i < n; i += 3) sum += g.rank[i] * i + g.changed[i];
    printf("%.9e %d\n", sum, total);
}
