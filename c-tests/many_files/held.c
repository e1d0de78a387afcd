/* Most of the work is done in critical, ordered and lock sections: it adds to what all threads share, so that
   nothing may be done twice or left out. */
#include <omp.h>
#include <stdio.h>

enum { N = 300, M = 64, ROUNDS = 20, BUCKETS = 5 };
static unsigned long sums[M], bucket[BUCKETS][M], nested[M], highest[M];
static double chain[M];
static omp_lock_t lock[BUCKETS];
static omp_nest_lock_t nest;

static void add(unsigned long *to, unsigned long x, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < M; k++)
            to[k] += x * k + r;
}

static void twice(int i)
{
    omp_set_nest_lock(&nest);
    add(nested, i, ROUNDS);
    omp_set_nest_lock(&nest);
    nested[i % M]++;
    omp_unset_nest_lock(&nest);
    add(nested, 2 * i, ROUNDS);
    omp_unset_nest_lock(&nest);
}

int main(void)
{
    for (int b = 0; b < BUCKETS; b++)
        omp_init_lock(&lock[b]);
    omp_init_nest_lock(&nest);
    for (int round = 0; round < 6; round++) {
#pragma omp parallel for ordered schedule(dynamic, 3)
        for (int i = 0; i < N; i++) {
#pragma omp critical(sums)
            {
                add(sums, i, ROUNDS);
                for (int k = 0; k < M; k++)
                    if (highest[k] < (unsigned long)(i * k % 97))
                        highest[k] = i * k % 97;
            }
            int b = i % BUCKETS;
            if (i % 2 || !omp_test_lock(&lock[b]))
                omp_set_lock(&lock[b]);
            add(bucket[b], i + round, ROUNDS);
            omp_unset_lock(&lock[b]);
            twice(i);
#pragma omp ordered
            for (int r = 0; r < ROUNDS; r++)
                for (int k = 1; k < M; k++)
                    chain[k] = chain[k] * 0.5 + chain[k - 1] * 0.25 + i;
        }
    }
    unsigned long s = 0;
    double c = 0;
    for (int k = 0; k < M; k++) {
        s = s * 31 + sums[k] + 3 * nested[k] + 5 * highest[k];
        c = c * 0.99 + chain[k];
        for (int b = 0; b < BUCKETS; b++)
            s = s * 31 + bucket[b][k];
    }
    printf("%lu %.17g\n", s, c);
    return 0;
}
