// What GCC 17 makes of static loops, reductions, barriers, single and
// masked, written as the calls that it emits.
// Prints the same for every number of threads.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef _Complex int pair;
extern pair GOMP_loop_static_worksharing(unsigned long long) __attribute__((const, nothrow, leaf));
extern pair GOMP_loop_static_worksharing_start(unsigned long long);
extern void GOMP_loop_static_worksharing_dispatch(unsigned long long, unsigned long long);
extern void GOMP_loop_static_worksharing_end(void);
extern pair GOMP_distribute_static_worksharing(unsigned long long);
extern pair GOMP_distribute_static_worksharing_start(unsigned long long);
extern void GOMP_distribute_static_worksharing_dispatch(unsigned long long, unsigned long long);
extern void GOMP_distribute_static_worksharing_end(void);
extern void GOMP_barrier_ext(int);
extern _Bool GOMP_barrier_cancel_ext(int);
extern _Bool GOMP_has_masked_thread_num(int);
extern _Bool GOMP_has_masked_thread_num_with_end(int);
extern void GOMP_masked_end(void);
extern _Bool GOMP_single_start_with_end(void);
extern void GOMP_single_end(void);
extern void GOMP_scope_start_with_end(void *);
extern void GOMP_scope_end(void);
extern void GOMP_reduction_start(void);
extern void GOMP_reduction_end(void);

enum { N = 4000, ROUNDS = 12, WORK = 300 };
static long data[N], next[N];

static void share(pair p, long n, long *lo, long *hi) {
    long threads = __real__ p, me = __imag__ p, q = n / threads, rest = n % threads;
    if (me < rest) q++, rest = 0;
    *lo = q * me + rest;
    *hi = *lo + q;
}

__attribute__((noinline)) static long work(long x) {
    for (int i = 0; i < WORK; i++) x = x * 6364136223846793005L + 1442695040888963407L;
    return x >> 40;
}

int main(void) {
    long sum = 0, most = 0, singles = 0, first = 0, second = 0, scopes = 0;
    int threads = 1;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
            long lo, hi, s = 0, m = 0;
            share(GOMP_loop_static_worksharing(N), N, &lo, &hi);
            for (long i = lo; i < hi; i++) data[i] = work(i + round);
            GOMP_barrier_ext(1);
            share(GOMP_loop_static_worksharing(N - 1), N - 1, &lo, &hi);
            for (long i = lo; i < hi; i++) {
                s += work(data[i] ^ data[i + 1]);
                m = data[i] > m ? data[i] : m;
            }
            GOMP_reduction_start();
            sum += s;
            most = m > most ? m : most;
            GOMP_reduction_end();
            GOMP_barrier_ext(1);
            // schedule(static,7), with calls around each chunk.
            pair p = GOMP_loop_static_worksharing_start(N);
            for (long from = 7L * __imag__ p; from < N; from += 7L * __real__ p) {
                long to = from + 7 < N ? from + 7 : N;
                GOMP_loop_static_worksharing_dispatch(from, to - from);
                for (long i = from; i < to; i++) next[i] = work(data[i]);
            }
            GOMP_barrier_ext(1);
            GOMP_loop_static_worksharing_end();
            if (GOMP_single_start_with_end()) singles++;
            GOMP_single_end();
            GOMP_barrier_ext(1);
            if (GOMP_has_masked_thread_num_with_end(0)) {
                first++;
                threads = omp_get_num_threads();
                GOMP_masked_end();
            }
            if (GOMP_has_masked_thread_num(1)) second++;
            GOMP_scope_start_with_end(0);
            GOMP_reduction_start();
            scopes++;
            GOMP_reduction_end();
            GOMP_scope_end();
            if (GOMP_barrier_cancel_ext(2)) abort();
        }
        for (long i = 0; i < N; i++) sum += next[i];
    }
    long teams = 0;
#pragma omp teams num_teams(3)
    {
        long lo, hi;
        share(GOMP_distribute_static_worksharing(100), 100, &lo, &hi);
        teams += hi - lo;
        share(GOMP_distribute_static_worksharing_start(50), 50, &lo, &hi);
        GOMP_distribute_static_worksharing_dispatch(lo, hi - lo);
        teams += 1000 * (hi - lo);
        GOMP_distribute_static_worksharing_end();
    }
    int masked = first == ROUNDS && second == (threads > 1 ? ROUNDS : 0);
    printf("sum %ld most %ld singles %ld teams %ld\n", sum, most, singles, teams);
    printf("masked %s scopes %s\n", masked ? "right" : "wrong",
           scopes == (long)ROUNDS * threads ? "right" : "wrong");
    return 0;
}
