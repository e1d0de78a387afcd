/* Kernels of every kind, each run a few times: which of them give the same bits whenever they run? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp declare target
static int table[64];
int drawn(int x);
#pragma omp end declare target
int drawn(int x) { return x ? rand() : 0; }

int main(void) {
    enum { N = 5000 };
    double *a = malloc(N * sizeof *a), sum = 0, total = 0;
    int *count = malloc(64 * sizeof *count), ticket = 0, zero = 0, seen = 0;
    for (int i = 0; i < N; i++) a[i] = i;
    for (int i = 0; i < 64; i++) count[i] = 0;
#pragma omp target data map(tofrom : a[0 : N], count[0 : 64], sum, total, ticket, seen) map(to : zero)
    for (int k = 0; k < 3; k++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++) a[i] = 0.5 * a[i] + sqrt(i); /* plain */
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++) { /* integer atomics */
#pragma omp atomic
            count[i % 64]++;
        }
#pragma omp target teams distribute parallel for map(tofrom : sum)
        for (int i = 0; i < N; i++) { /* floating-point atomics */
#pragma omp atomic
            sum += a[i];
        }
#pragma omp target teams distribute parallel for reduction(+ : total)
        for (int i = 0; i < N; i++) total += a[i]; /* a reduction */
#pragma omp target
        if (zero) printf("never %d\n", k); /* output */
#pragma omp target map(tofrom : seen)
        seen += drawn(zero); /* random numbers */
#pragma omp target
        table[k]++; /* a variable that the host knows */
#pragma omp target teams distribute parallel for map(tofrom : ticket)
        for (int i = 0; i < N; i++) { /* an atomic whose answer is used */
            int mine;
#pragma omp atomic capture
            mine = ticket++;
            if (mine == -1) a[i] = 0;
        }
    }
#pragma omp target update from(table)
    int counted = 0;
    for (int i = 0; i < 64; i++) counted += count[i];
    printf("%d %d %d %d %.6e\n", counted, ticket, table[0] + table[1] + table[2], seen, total);
    return !(counted == 3 * N && ticket == 3 * N);
}
