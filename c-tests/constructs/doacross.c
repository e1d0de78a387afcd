/* Doacross loops: nests of one to three loops, few and many iterations of the outermost, signed and unsigned, all schedules; several of them
   in one region; iterations that are long now and then, so that others go to sleep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 5000 };
static unsigned a[MOST][4], grid[700][9], cube[20][6][7];

static void linger(int i) {
    if (i % 97 == 0) usleep(200);
}

static unsigned sum(const void *p, size_t bytes) {
    unsigned s = 1;
    for (size_t i = 0; i < bytes / sizeof(unsigned); i++) s = s * 31 + ((const unsigned *)p)[i];
    return s;
}

static void one(int n) {
    for (int i = 0; i < MOST; i++) a[i][0] = i;
#pragma omp parallel
    {
#pragma omp for ordered(1) schedule(static)
        for (int i = 1; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
            a[i][1] = a[i - 1][1] * 3 + a[i][0];
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(static, 1)
        for (long i = n - 1; i >= 1; i--) {
#pragma omp ordered depend(sink : i + 4)
            a[i][2] = (i + 4 < MOST ? a[i + 4][2] : 0) * 5 + a[i][1];
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(dynamic, 3)
        for (long i = 0; i < n; i += 2) {
#pragma omp ordered depend(sink : i - 2)
            if (n < 100) linger((int)i);
            a[i][3] = (i >= 2 ? a[i - 2][3] : 0) * 7 + a[i][2];
#pragma omp ordered depend(source)
        }
    }
    printf("one loop, %d iterations: %u\n", n, sum(a, sizeof a));
}

static void two(int n, int m) {
    memset(grid, 1, sizeof grid);
#pragma omp parallel
    {
#pragma omp for ordered(2) schedule(guided)
        for (int i = 1; i < n; i++)
            for (int j = 1; j < m; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                grid[i][j] = grid[i - 1][j] * 3 + grid[i][j - 1] + i * j;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(2) schedule(runtime)
        for (unsigned long long i = 1; i < (unsigned long long)n; i++)
            for (unsigned long long j = 2; j < (unsigned long long)m; j++) {
#pragma omp ordered depend(sink : i - 1, j + 1) depend(sink : i - 1, j - 2)
                grid[i][j] = grid[i - 1][j + 1 < (unsigned long long)m ? j + 1 : 0] * 3 + grid[i - 1][j - 2] + grid[i][j];
#pragma omp ordered depend(source)
            }
    }
    printf("two loops, %d x %d: %u\n", n, m, sum(grid, sizeof grid));
}

static void three(void) {
    memset(cube, 2, sizeof cube);
#pragma omp parallel for ordered(3) schedule(dynamic)
    for (int i = 1; i < 20; i++)
        for (int j = 1; j < 6; j++)
            for (int k = 1; k < 7; k++) {
#pragma omp ordered depend(sink : i - 1, j, k) depend(sink : i, j - 1, k) depend(sink : i, j, k - 1)
                cube[i][j][k] = cube[i - 1][j][k] * 3 + cube[i][j - 1][k] * 5 + cube[i][j][k - 1];
#pragma omp ordered depend(source)
            }
    printf("three loops: %u\n", sum(cube, sizeof cube));
}

int main(void) {
    int sizes[] = {2, 3, 9, 64, 511, 512, 513, 514, 1025, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        one(sizes[s]);
        if (sizes[s] <= 700) two(sizes[s], 9);
    }
    for (int r = 0; r < 20; r++) three();
    return 0;
}
