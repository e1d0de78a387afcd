/* Tasks: recursion, dependences, priorities, taskgroup, taskloop, reductions, detach, final, undeferred. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fib(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a) if (n > 10)
    a = fib(n - 1);
#pragma omp task shared(b) final(n < 8)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long walk(int depth) {
    long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task in_reduction(+ : sum)
            {
                sum += depth;
                if (depth > 1) {
                    long inner = walk(depth - 1);
                    sum += inner;
                }
            }
        }
    }
    return sum;
}

int main(void) {
    long f = 0, w = 0;
#pragma omp parallel
#pragma omp single
    {
        f = fib(18);
        w = walk(4);
    }
    printf("fib %ld walk %ld\n", f, w);

    int x = 1, y[64];
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x)
        x = 2;
#pragma omp task depend(inout : x)
        x *= 5;
        for (int i = 0; i < 64; i++) {
#pragma omp task depend(in : x) depend(out : y[i]) firstprivate(i)
            y[i] = x + i;
        }
#pragma omp task depend(mutexinoutset : x)
        x += 1;
#pragma omp task depend(mutexinoutset : x)
        x += 10;
#pragma omp taskwait depend(in : y[63])
        if (y[63] != 73) abort();
#pragma omp task depend(inout : x)
        x *= 2;
    }
    long ys = 0;
    for (int i = 0; i < 64; i++) ys += y[i];
    printf("depend %d %ld\n", x, ys);

    /* Blocked LU-like chain: each block waits for its row and column. */
    enum { B = 12 };
    static long blk[B][B];
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < B; k++)
        for (int i = k; i < B; i++)
            for (int j = k; j < B; j++) {
#pragma omp task depend(in : blk[k][k]) depend(inout : blk[i][j]) firstprivate(i, j, k)
                blk[i][j] = (blk[i][j] * 31 + blk[k][k] + i * j + k) % 10007;
            }
    printf("blocks %ld %ld\n", blk[B - 1][B - 1], blk[B - 1][0]);

    long sum = 0, red = 0;
    int hits[1000] = {0};
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(7) shared(hits)
        for (int i = 0; i < 1000; i++) hits[i]++;
#pragma omp taskloop num_tasks(9) reduction(+ : red)
        for (long i = 0; i < 500; i++) red += i;
#pragma omp taskloop collapse(2) nogroup
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++) {
#pragma omp atomic
                sum += i * j;
            }
    }
    int wrong = 0;
    for (int i = 0; i < 1000; i++) wrong += hits[i] != 1;
    printf("taskloop %d %ld %ld\n", wrong, red, sum);

    long det = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t ev;
#pragma omp task detach(ev) depend(out : det)
        det = 1;
#pragma omp task depend(in : det)
        det += det == 1 ? 100 : 1000;
#pragma omp task
        omp_fulfill_event(ev);
    }
    printf("detach %ld\n", det);

    long parred = 0;
#pragma omp parallel reduction(task, + : parred)
    {
#pragma omp single
        for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : parred)
            parred += i;
        }
    }
    printf("parallel task reduction %ld\n", parred);

    long wsred = 0;
#pragma omp parallel
    {
#pragma omp for reduction(task, + : wsred) schedule(dynamic, 3)
        for (int i = 0; i < 60; i++) {
#pragma omp task in_reduction(+ : wsred)
            wsred += i;
        }
    }
    printf("for task reduction %ld\n", wsred);

    int order[8], at = 0;
#pragma omp parallel num_threads(1)
    {
        for (int i = 0; i < 8; i++) {
#pragma omp task priority(i)
            order[at++] = i;
        }
    }
    printf("tasks run %d\n", at);
    (void)order;
    return 0;
}
