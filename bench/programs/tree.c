/* Search of an unbalanced tree: most nodes have no children, a few have many; a task for every node. */
#include "program.h"

enum { CHILDREN = 8 };

static long long visit(uint64_t node, int depth, int limit) {
    int children = depth == 0 ? 500 : depth < limit && mix(node) % 1000 < 120 ? CHILDREN : 0;
    long long below[512];
    for (int i = 0; i < children; i++) {
        uint64_t child = mix(node + (uint64_t)i + 1);
#pragma omp task firstprivate(i, child) shared(below)
        below[i] = visit(child, depth + 1, limit);
    }
#pragma omp taskwait
    long long sum = 1 + (long long)(node & 1);
    for (int i = 0; i < children; i++) sum += below[i];
    return sum;
}

static long long solve(int limit) {
    long long r = 0;
#pragma omp parallel
#pragma omp single
    for (int seed = 0; seed < 20; seed++) r += visit((uint64_t)seed, 0, limit);
    return r;
}
PROGRAM(60)
