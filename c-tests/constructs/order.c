/* Under libgomp a thread gets the chunks of a dynamic loop in increasing order, whatever modifier the
   schedule has; compilers since GCC 9 say nonmonotonic where nothing is said. Programs count on it: a thread
   that looks for the first iteration with some property stops looking when it has one. Uneven work, so that
   threads run out of chunks at different times. */
#include <stdio.h>
#include <stdlib.h>

enum { LOOPS = 80, MOST = 3000 };
static unsigned state = 12345;
static unsigned next(void) { return (state = state * 1664525u + 1013904223u) >> 8; }
static volatile double sink;

static void work(unsigned i, unsigned k) {
    double x = i;
    for (unsigned w = (i * 2654435761u >> 20) % 9 ? 3 : k; w > 0; w--) x = x * 1.0000001 + w;
    sink = x;
}

#define FIRST(schedule) \
    _Pragma(schedule) for (int i = 0; i < n; i++) { \
        if (i < last) back++; \
        last = i; \
        if (!found && i >= n / 4 * 3) found = 1, mine = i; \
        work((unsigned)i, k); \
    }

int main(void) {
    long back = 0, first = 0;
    for (int l = 0; l < LOOPS; l++) {
        unsigned k = 200 + next() % 2000;
        int n = next() % 3 ? MOST : 10 + (int)(next() % 200), chunk = 1 + (int)(next() % 4), least = n;
#pragma omp parallel reduction(+ : back) reduction(min : least)
        {
            int last = -1, found = 0, mine = n;
            switch (l % 5) {
            case 0: FIRST("omp for schedule(dynamic)") break;
            case 1: FIRST("omp for schedule(dynamic, chunk) nowait") break;
            case 2: FIRST("omp for schedule(nonmonotonic : dynamic)") break;
            case 3: FIRST("omp for schedule(runtime)") break;
            case 4: FIRST("omp for schedule(guided, chunk)") break;
            }
            least = mine;
        }
        first += least == n / 4 * 3;
    }
    long low = 0;
#define SECTION(n) _Pragma("omp section") { low += n < last; last = n; work(n * 7, 3000); }
#define FOUR(n) SECTION(n) SECTION(n + 1) SECTION(n + 2) SECTION(n + 3)
#define SIXTEEN(n) FOUR(n) FOUR(n + 4) FOUR(n + 8) FOUR(n + 12)
    for (int l = 0; l < LOOPS; l++) {
#pragma omp parallel reduction(+ : low)
        {
            int last = -1;
#pragma omp sections
            { SIXTEEN(0) SIXTEEN(16) SIXTEEN(32) SIXTEEN(48) }
        }
    }
    printf("%ld chunks and %ld sections below the one before, the first one found in %ld of %d loops\n", back,
           low, first, LOOPS);
}
