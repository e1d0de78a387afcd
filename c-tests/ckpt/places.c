/* A loop with three places: at the first one two arrays are dead, at the second one of them, at the third
   nothing (arguments: steps; c: they are come to in another order in the second half). */
#include <promp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 200000 };
static double a[N], b[N], sum[N];

static void fill(double *to, int s) {
#pragma omp parallel for schedule(dynamic, 5000)
    for (int i = 0; i < N; i++) {
        double x = i + s;
        for (int k = 0; k < 4; k++) x = x * 0.75 + 1.0 / (x + 1);
        to[i] = x;
    }
}

static void none(void) {
    if (promp_dead) promp_dead(sum, 1), promp_potential_ckpt();
}
static void one(void) {
    if (promp_dead) promp_dead(b, sizeof b), promp_potential_ckpt();
}
static void both(void) {
    if (promp_dead) promp_dead(a, sizeof a), promp_dead(b, sizeof b), promp_potential_ckpt();
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 400, changes = argc > 2;
    for (int s = 0; s < steps; s++) {
        int other = changes && s > steps / 2;
        both();
        if (other) both();
        fill(a, s);
        one();
        fill(b, 2 * s);
        if (!other) none();
#pragma omp parallel for schedule(dynamic, 5000)
        for (int i = 0; i < N; i++) sum[i] += a[i] - b[N - 1 - i] / 3;
    }
    uint64_t h = 0;
    for (int i = 0; i < N; i++) {
        union { double d; uint64_t n; } u = {sum[i]};
        h = h * 31 + u.n;
    }
    printf("%016llx\n", (unsigned long long)h);
    return 0;
}
