/* n-queens with included tasks: tasks for the first three rows, `final` below, each with its own copy of the
   board. */
#include "program.h"

enum { CUT = 3 };

static int safe(const char *board, int row) {
    for (int i = 0; i < row; i++)
        if (board[i] == board[row] || abs(board[i] - board[row]) == row - i) return 0;
    return 1;
}

static void place(int n, int row, const char *board, long long *found) {
    long long counts[32] = {0};
    if (row == n) {
        *found = 1;
        return;
    }
    for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(i) shared(counts) final(row >= CUT)
        {
            char own[32];
            memcpy(own, board, (size_t)row);
            own[row] = (char)i;
            if (safe(own, row)) place(n, row + 1, own, &counts[i]);
        }
    }
#pragma omp taskwait
    *found = 0;
    for (int i = 0; i < n; i++) *found += counts[i];
}

static long long solve(int n) {
    long long r = 0;
    char board[32] = {0};
#pragma omp parallel
#pragma omp single
    place(n, 0, board, &r);
    return r;
}
PROGRAM(9)
