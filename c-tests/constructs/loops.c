/* Every schedule, both integer widths, up and down, chunks, ordered, doacross, collapse, lastprivate, nowait. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1003 };
static int hits[N];

static void check(const char *name) {
    long wrong = 0;
    for (int i = 0; i < N; i++) wrong += hits[i] != 1;
    printf("%s wrong %ld\n", name, wrong);
    memset(hits, 0, sizeof hits);
}

#define LOOPS(name, clause)                                                                                           \
    {                                                                                                                 \
        _Pragma("omp parallel")                                                                                       \
        {                                                                                                             \
            PRAGMA(omp for clause)                                                                                    \
            for (int i = 0; i < N; i++) hits[i]++;                                                                    \
        }                                                                                                             \
        check(name " int");                                                                                           \
        PRAGMA(omp parallel for clause)                                                                               \
        for (long i = 3 * N - 3; i >= 0; i -= 3) hits[i / 3]++;                                                       \
        check(name " down");                                                                                          \
        PRAGMA(omp parallel for clause)                                                                               \
        for (unsigned long long i = ULLONG_MAX - 1 - 2 * N; i < ULLONG_MAX - 2; i += 2)                               \
            hits[(i - (ULLONG_MAX - 1 - 2 * N)) / 2]++;                                                               \
        check(name " ull");                                                                                           \
        PRAGMA(omp parallel for clause)                                                                               \
        for (unsigned long long i = ULLONG_MAX; i > ULLONG_MAX - N; i--) hits[ULLONG_MAX - i]++;                      \
        check(name " ull down");                                                                                      \
    }
#define PRAGMA(x) _Pragma(#x)

int main(void) {
    LOOPS("static", schedule(static))
    LOOPS("static,1", schedule(static, 1))
    LOOPS("static,17", schedule(static, 17))
    LOOPS("dynamic", schedule(dynamic))
    LOOPS("dynamic,13", schedule(dynamic, 13))
    LOOPS("monotonic", schedule(monotonic : dynamic, 5))
    LOOPS("guided", schedule(guided))
    LOOPS("guided,9", schedule(guided, 9))
    LOOPS("auto", schedule(auto))
    LOOPS("runtime", schedule(runtime))
    LOOPS("nonmonotonic runtime", schedule(nonmonotonic : runtime))

    int last = -1, lin = 0;
#pragma omp parallel for lastprivate(last) schedule(dynamic, 7)
    for (int i = 0; i < N; i++) last = i, hits[i]++;
    check("lastprivate");
#pragma omp parallel for linear(lin : 3) schedule(dynamic, 11)
    for (int i = 0; i < N; i++) hits[lin / 3]++, lin += 3;
    check("linear");
    printf("last %d linear %d\n", last, lin);

#pragma omp parallel for collapse(3) schedule(dynamic, 4)
    for (int a = 0; a < 17; a++)
        for (int b = 0; b < 59; b++)
            for (int c = 0; c < 1; c++) hits[a * 59 + b + c]++;
    check("collapse");

#define ORDERED(clause)                                                                                               \
    {                                                                                                                 \
        int at = 0, bad = 0;                                                                                          \
        PRAGMA(omp parallel for ordered clause)                                                                       \
        for (int i = 0; i < 200; i++) {                                                                               \
            hits[i]++;                                                                                                \
            if (i % 3 != 1) {                                                                                         \
                _Pragma("omp ordered")                                                                                \
                {                                                                                                     \
                    bad += at > i;                                                                                    \
                    at = i;                                                                                           \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
        printf("ordered bad %d\n", bad);                                                                              \
        memset(hits, 0, sizeof hits);                                                                                 \
    }
    ORDERED(schedule(static))
    ORDERED(schedule(static, 3))
    ORDERED(schedule(dynamic))
    ORDERED(schedule(dynamic, 4))
    ORDERED(schedule(guided, 2))
    ORDERED(schedule(runtime))

    static int grid[40][50];
#pragma omp parallel
    {
#pragma omp for ordered(2) schedule(dynamic)
        for (int i = 1; i < 40; i++)
            for (int j = 1; j < 50; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                grid[i][j] = (grid[i - 1][j] + grid[i][j - 1] + i * j) % 1009;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(1) schedule(static, 2)
        for (unsigned long long i = 3; i < 40; i++) {
#pragma omp ordered depend(sink : i - 2)
            grid[i][0] = grid[i - 2][0] + (int)i;
#pragma omp ordered depend(source)
        }
    }
    printf("doacross %d %d\n", grid[39][49], grid[39][0]);

    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int r = 0; r < 300; r++) {
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < 10; i++) sum += i;
#pragma omp single nowait
        sum += 1000;
    }
    printf("nowait %ld\n", sum);

    int scan[100], run = 0;
#pragma omp parallel for reduction(inscan, + : run)
    for (int i = 0; i < 100; i++) {
        run += i;
#pragma omp scan inclusive(run)
        scan[i] = run;
    }
    printf("scan %d %d\n", scan[50], scan[99]);
    return 0;
}
