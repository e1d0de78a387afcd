/* Taskloops whose pieces only read what others do not write: of few and of many pieces, with and without a
   group, within each other, with tasks of their own. */
#include <stdio.h>

enum { N = 2400, ROUNDS = 12 };
typedef unsigned long word;
static word from[N], to[N];

static word mix(word a, word b, int work) {
    for (int i = 0; i < work; i++) a = ((a ^ (b + i)) * 0x9E3779B97F4A7C15ul) ^ (a >> 29);
    return a;
}

int main(void) {
    for (int i = 0; i < N; i++) from[i] = mix(i, 7, 3);
    for (int r = 0; r < ROUNDS; r++) {
        int last = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop grainsize(strict : 17) nogroup
            for (int i = 0; i < 1200; i++) to[i] = mix(from[i], from[N - 1 - i], 300);
#pragma omp taskloop num_tasks(40) lastprivate(last)
            for (int i = 1200; i < 2000; i++) {
                to[i] = mix(from[i], r, 300);
                last = i;
            }
#pragma omp taskloop num_tasks(6)
            for (int j = 0; j < 8; j++) {
#pragma omp taskloop grainsize(3)
                for (int i = 2000 + 50 * j; i < 2050 + 50 * j; i++) to[i] = mix(from[i], j, 300);
            }
#pragma omp taskwait
        }
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < N; i++) from[i] = mix(to[i], last, 20);
    }
    word h = 0;
    for (int i = 0; i < N; i++) h = mix(h, from[i], 1);
    printf("%lx\n", h);
    return 0;
}
