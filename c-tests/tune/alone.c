/* Short regions that one thread executes where the tuner may say so, while what regions inherit changes
   around and within them. Prints "right", or what is not as the specification has it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double a[64];
static long sum;
static int wrong;

static void check(const char *what, int round, long got, long want) {
    if (got == want) return;
    if (wrong++ < 10) printf("round %d: %s: %ld, not %ld\n", round, what, got, want);
}

/* What a region of a task with these ICVs has. */
static void inherited(int round, int threads, int chunk) {
    omp_sched_t kind;
    int c;
    omp_get_schedule(&kind, &c);
    check("max threads", round, omp_get_max_threads(), threads);
    check("chunk", round, c, chunk);
    check("level", round, omp_get_level(), 1);
    check("not more threads than asked for", round, omp_get_num_threads() <= threads, 1);
}

static void first(int round, int threads, int chunk) {
#pragma omp parallel
    {
        inherited(round, threads, chunk);
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 64; i++) {
            a[i] = a[i] * 0.5 + i;
            sum += i;
        }
        if (round % 7 == 0) {
            /* Of the implicit task alone. */
            omp_set_num_threads(9);
            check("max threads inside", round, omp_get_max_threads(), 9);
        }
    }
}

static void second(int round, int threads, int chunk) {
#pragma omp parallel
    {
        inherited(round, threads, chunk);
#pragma omp single
        {
#pragma omp task
#pragma omp atomic
            sum += 3;
        }
    }
}

static void third(int round, int threads) {
#pragma omp parallel num_threads(2)
    {
        check("not more than two", round, omp_get_num_threads() <= 2, 1);
        check("max threads", round, omp_get_max_threads(), threads);
#pragma omp atomic
        sum += omp_get_thread_num() == 0;
        if (round % 50 == 0) {
#pragma omp parallel num_threads(1)
            check("inner level", round, omp_get_level(), 2);
        }
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 2000;
    long want = 0;
    for (int r = 0; r < rounds; r++) {
        /* They change behind a round without `third`. */
        int k = r < 3 ? 0 : (r - 3) / 100, threads = 2 + k % 3, chunk = 1 + k % 4;
        if (r % 100 == 3 || r == 0) {
            omp_set_num_threads(threads);
            omp_set_schedule(omp_sched_dynamic, chunk);
        }
        first(r, omp_get_max_threads(), chunk);
        if (r % 3) second(r, omp_get_max_threads(), chunk);
        if (r % 5 == 0) third(r, omp_get_max_threads());
        check("max threads outside", r, omp_get_max_threads(), threads);
        want += 64 * 63 / 2 + (r % 3 ? 3 : 0) + (r % 5 == 0);
        check("sum", r, sum, want);
    }
    if (!wrong) printf("right\n");
    return wrong != 0;
}
