/* Not replayable: every iteration changes what it reads. Repeating a part of it would give another sum. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) { /* rounds */
    enum { N = 4000, INNER = 400 };
    int rounds = argc > 1 ? atoi(argv[1]) : 30;
    static double a[N];
    for (int i = 0; i < N; i++) a[i] = i % 17;
    for (int r = 0; r < rounds; r++) {
#pragma omp parallel for schedule(dynamic, 40)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < INNER; k++) a[i] = a[i] * 0.999 + 1.5;
    }
    double s = 0;
    for (int i = 0; i < N; i++) s += a[i];
    printf("sum %.9f\n", s);
    return 0;
}
