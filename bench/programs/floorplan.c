/* A floor plan: cells are placed one after the other beside the last one, each in two shapes; how small can
   the whole be, and in how many ways? Tasks for the first cells, `final` below, each with its own copy of the
   board. Nothing is cut off, so that the work is the same whoever is first. */
#include "program.h"

enum { SIDE = 24, CUT = 2, CELLS = 7, WAYS = 64 };
static const int SHAPES[CELLS][2] = {{2, 3}, {1, 4}, {3, 3}, {2, 2}, {1, 3}, {2, 4}, {1, 2}};

struct found {
    int area;
    long long ways;
};
struct rest {
    int top, left, height, width; /* the cell that was placed last */
    int bottom, right;            /* what is taken of the board */
};

static int fits(char board[SIDE][SIDE], int top, int left, int height, int width) {
    if (top < 0 || left < 0 || top + height > SIDE || left + width > SIDE) return 0;
    for (int y = top; y < top + height; y++)
        for (int x = left; x < left + width; x++)
            if (board[y][x]) return 0;
    return 1;
}

static void place(int n, int cell, char board[SIDE][SIDE], struct rest r, struct found *best) {
    struct found found[WAYS];
    int ways = 0;
    if (cell == n) {
        *best = (struct found){r.bottom * r.right, 1};
        return;
    }
    for (int turned = 0; turned < 2; turned++) {
        int height = SHAPES[cell][turned], width = SHAPES[cell][1 - turned];
        /* Right of the last one, then below it. */
        int beside = cell == 0 ? 1 : r.height + height - 1, below = cell == 0 ? 0 : r.width + width - 1;
        for (int i = 0; i < beside + below; i++) {
            int right = i < beside;
            int top = right ? r.top - height + 1 + i : r.top + r.height;
            int left = right ? r.left + r.width : r.left - width + 1 + i - beside;
            if (cell == 0) top = left = 0;
            if (!fits(board, top, left, height, width)) continue;
            found[ways] = (struct found){0, 0};
#pragma omp task firstprivate(top, left, height, width, ways) shared(found) final(cell >= CUT)
            {
                char own[SIDE][SIDE];
                struct rest next = {top, left, height, width, r.bottom, r.right};
                memcpy(own, board, sizeof own);
                for (int y = top; y < top + height; y++) memset(&own[y][left], cell + 1, (size_t)width);
                if (top + height > next.bottom) next.bottom = top + height;
                if (left + width > next.right) next.right = left + width;
                place(n, cell + 1, own, next, &found[ways]);
            }
            ways++;
        }
    }
#pragma omp taskwait
    *best = (struct found){SIDE * SIDE, 0};
    for (int i = 0; i < ways; i++) {
        if (found[i].area < best->area) best->area = found[i].area;
        best->ways += found[i].ways;
    }
}

static long long solve(int n) {
    struct found best = {0, 0};
    char board[SIDE][SIDE] = {{0}};
#pragma omp parallel
#pragma omp single
    place(n < CELLS ? n : CELLS, 0, board, (struct rest){0, 0, 0, 0, 0, 0}, &best);
    return best.ways * 1000 + best.area;
}
PROGRAM(5)
