/* Tasks that are executed at once: undeferred, in final tasks, outside of regions, among many; which then turn out to need being tasks of
   their own, because they create others, start regions, set control variables, own locks, wait. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fib(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a) if (n % 3)
    a = fib(n - 1);
#pragma omp task shared(b) final(n < 6)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

/* A chain of undeferred tasks; the innermost creates a deferred one that the outermost's end need not wait for. */
static void chain(int depth, int *count) {
#pragma omp task if (0) shared(count)
    {
        if (depth > 0) chain(depth - 1, count);
        else {
#pragma omp task shared(count)
            {
#pragma omp atomic
                ++*count;
            }
        }
#pragma omp atomic
        ++*count;
    }
}

static void control(void) {
    int before = omp_get_max_threads(), inside, after;
#pragma omp task if (0) shared(inside)
    {
        omp_set_num_threads(before + 3);
        inside = omp_get_max_threads();
    }
    after = omp_get_max_threads();
    printf("control %d %d\n", inside - before, after - before);
}

static void regions(void) {
    int sum = 0;
#pragma omp task if (0) shared(sum)
    {
#pragma omp parallel num_threads(3) reduction(+ : sum)
        {
            sum += omp_get_thread_num() + 1;
#pragma omp task if (0)
            {
#pragma omp task
                omp_get_thread_num();
            }
        }
        if (!omp_in_parallel()) sum += 100;
    }
    printf("regions %d %d\n", sum, omp_in_parallel());
}

static void locks(void) {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    int again = omp_test_nest_lock(&lock), inner = -1;
#pragma omp task if (0) shared(inner, lock)
    inner = omp_test_nest_lock(&lock); /* another task: it does not own it */
    printf("locks %d %d\n", again, inner);
    while (again-- > 0) omp_unset_nest_lock(&lock);
    int below = -1, mine = -1;
#pragma omp task if (0) shared(below, mine, lock)
    {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
#pragma omp task if (0) shared(below, lock)
        below = omp_test_nest_lock(&lock);
        mine = omp_test_nest_lock(&lock);
        for (int i = 0; i < mine; i++) omp_unset_nest_lock(&lock);
    }
    printf("locks in tasks %d %d %d\n", below, mine, omp_test_nest_lock(&lock));
    omp_unset_nest_lock(&lock);
    if (inner > 0) omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
}

static void queries(void) {
    int explicit = -1, final = -1, nested = -1, clause = -1, copied = -1, alone = -1, after = -1;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task if (0) shared(explicit)
        explicit = omp_in_final();
#pragma omp task final(1) shared(final, nested)
        {
            final = omp_in_final();
#pragma omp task shared(nested)
            nested = omp_in_final();
#pragma omp task shared(clause, copied) final(final)
            {
                int data[final + 1];
                data[final] = 7;
#pragma omp task shared(copied) firstprivate(data) final(clause)
                copied = omp_in_final() * data[final];
                clause = omp_in_final();
            }
        }
    }
#pragma omp task shared(alone) final(1)
    alone = omp_in_final();
#pragma omp task shared(after)
    after = omp_in_final();
    printf("queries %d %d %d %d\n", explicit, final, nested, omp_get_level());
    printf("final %d %d %d %d\n", clause, copied, alone, after);
}

static void many(void) {
    long sum = 0, blocks = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 20000; i++) {
        double data[4] = {i, 1, 2, 3};
#pragma omp task firstprivate(data, i) shared(sum, blocks)
        {
            if (i % 100 == 0) {
#pragma omp task shared(blocks)
                {
#pragma omp atomic
                    blocks += 1;
                }
            }
            if (data[0] == i && data[3] == 3) {
#pragma omp atomic
                sum += i;
            }
            data[3] = -1;
        }
    }
    printf("many %ld %ld\n", sum, blocks);
}

static void loops(void) {
    long sum = 0, waited = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop grainsize(1) shared(waited) reduction(+ : sum)
        for (int i = 0; i < 5000; i++) {
            sum += i;
            if (i % 500 == 7) {
                int mine = 0;
#pragma omp task shared(mine)
                mine = 1;
#pragma omp taskwait
#pragma omp atomic
                waited += mine;
            }
        }
    }
    printf("loops %ld %ld\n", sum, waited);
}

static void groups(void) {
    int n = 0, at_end = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task if (0) shared(n)
            for (int i = 0; i < 50; i++) {
#pragma omp task shared(n)
                {
#pragma omp atomic
                    n++;
                }
            }
        }
        at_end = n;
    }
    printf("groups %d\n", at_end);
}

static void dependences(void) {
    int order[6], at = 0, x = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        for (int i = 0; i < 4; i++) {
#pragma omp task depend(inout : x) shared(order, at)
            order[at++] = i;
        }
#pragma omp task if (0) depend(inout : x) shared(order, at)
        order[at++] = 4;
#pragma omp task depend(in : x) shared(order, at)
        order[at++] = 5;
    }
    for (int i = 0; i < 6; i++) printf("%d ", order[i]);
    printf("in order\n");
}

/* Blocks that a function of the compiler's makes: small, larger than a few hundred bytes, than a page,
   aligned; of tasks that turn out to be more than calls, within each other. */
enum { LARGE = 700, HUGE = 9000 };
struct aligned {
    _Alignas(64) int x[16];
};
struct far {
    _Alignas(256) int x[64];
};

static int stands(const void *p, size_t to) { return (size_t)p % to == 0; }

static int copies_below(int depth, const char *above) {
    char own[LARGE], huge[HUGE];
    int data[3] = {depth, 2 * depth, 3}, below = 0, sum = 0, team = 0;
    struct aligned a = {{depth}};
    struct far f = {{depth}};
    for (int i = 0; i < LARGE; i++) own[i] = (char)(i + depth);
    for (int i = 0; i < HUGE; i++) huge[i] = (char)(i - depth);
#pragma omp task if (depth % 2) firstprivate(data, a) shared(below, own, above)
    {
        data[2] += stands(&a, 64) + a.x[0];
        if (depth > 0) below = copies_below(depth - 1, own);
        below += data[0] + data[1] + data[2] + (above ? above[5] : 0);
    }
#pragma omp taskwait
#pragma omp task if (0) firstprivate(own, f) shared(sum, team)
    {
        sum = own[LARGE - 1] + f.x[0] + stands(&f, 256);
        own[0] = 1;
        /* More than a call. */
#pragma omp parallel num_threads(2) reduction(+ : team) if (depth % 3 == 0)
        team += own[1] + omp_get_thread_num();
#pragma omp task firstprivate(own) shared(sum)
        {
#pragma omp atomic
            sum += own[0];
        }
#pragma omp taskwait
    }
#pragma omp task final(depth < 3) firstprivate(huge, data) shared(sum)
    {
#pragma omp atomic
        sum += huge[HUGE - 1] + data[2];
        huge[HUGE - 1] = 0;
    }
#pragma omp taskwait
    return below + 3 * sum + 5 * team + data[2] + huge[HUGE - 1] + own[0];
}

static void copies(void) {
    int inside = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp task if (0) final(1) shared(inside)
    inside = copies_below(9, 0);
    printf("copies %d %d", copies_below(9, 0), inside);
#pragma omp parallel num_threads(3)
#pragma omp single
    inside = copies_below(9, 0);
    printf(" %d\n", inside);
}

int main(void) {
    int count = 0;
    printf("fib %ld\n", fib(15));
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        printf("fib %ld\n", fib(17));
        chain(20, &count);
        locks();
        control();
    }
    printf("chain %d\n", count);
    locks();
    control();
    regions();
    queries();
    many();
    loops();
    groups();
    dependences();
    copies();
    return 0;
}
