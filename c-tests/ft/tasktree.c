/* A task program: n-queens; every task counts into a slot of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n = 9;

static int safe(const char *q, int row, int col) {
    for (int i = 0; i < row; i++)
        if (q[i] == col || abs(q[i] - col) == row - i) return 0;
    return 1;
}

static long serial(const char *q, int row) {
    if (row == n) return 1;
    char next[16];
    memcpy(next, q, sizeof next);
    long s = 0;
    for (int c = 0; c < n; c++)
        if (safe(q, row, c)) next[row] = c, s += serial(next, row + 1);
    return s;
}

struct board { char q[16]; };

static void solve(struct board b, int row, long *result) {
    if (row == 3) { *result = serial(b.q, row); return; }
    long part[16] = {0};
    for (int c = 0; c < n; c++)
        if (safe(b.q, row, c)) {
            struct board next = b;
            next.q[row] = c;
#pragma omp task shared(part) firstprivate(next, c, row)
            solve(next, row + 1, &part[c]);
        }
#pragma omp taskwait
    long s = 0;
    for (int c = 0; c < n; c++) s += part[c];
    *result = s;
}

int main(int argc, char **argv) {
    if (argc > 1) n = atoi(argv[1]);
    long total = 0;
    struct board b = {{0}};
#pragma omp parallel
#pragma omp single
    solve(b, 0, &total);
    printf("queens %d: %ld\n", n, total);
    return 0;
}
