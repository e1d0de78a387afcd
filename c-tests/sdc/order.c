/* Kernels whose work is handed out as threads ask for it, or that take memory, time or functions from
   elsewhere: only the last two give the same bits whenever they run. */
#include <omp.h>
#include <stdlib.h>
#include <time.h>

#pragma omp declare target
int twice(int x), thrice(int x);
#pragma omp end declare target
int twice(int x) { return 2 * x; }
int thrice(int x) { return 3 * x; }

int main(void) {
    int a[64] = {0};
    long n = 0;
    omp_lock_t lock;
#pragma omp target data map(tofrom : a, n) map(alloc : lock)
    {
#pragma omp target parallel for map(tofrom : n)
        for (int i = 0; i < 64; i++)
#pragma omp critical
            n = n * 3 + i; /* critical */
#pragma omp target parallel for schedule(dynamic)
        for (int i = 0; i < 64; i++) a[i] = omp_get_thread_num(); /* dynamic */
#pragma omp target parallel
#pragma omp single
        for (int i = 0; i < 64; i++)
#pragma omp task
            a[i] = omp_get_thread_num(); /* task */
#pragma omp target map(tofrom : n)
        { /* lock */
            omp_init_lock(&lock);
#pragma omp parallel
            {
                omp_set_lock(&lock);
                n = n * 5 + omp_get_thread_num();
                omp_unset_lock(&lock);
            }
        }
#pragma omp target map(tofrom : n)
        { /* malloc */
            int *p = malloc(8);
            n += (long) p;
            free(p);
        }
#pragma omp target map(tofrom : n)
        n += clock(); /* clock */
#pragma omp target map(tofrom : n)
        { /* pointer */
            int (*f)(int) = n & 1 ? twice : thrice;
            n += f(3);
        }
#pragma omp target map(tofrom : n)
        n += (long) omp_get_wtime(); /* wtime */
#pragma omp target parallel
        { /* cancel */
#pragma omp for
            for (int i = 0; i < 64; i++) {
                a[i]++;
#pragma omp cancel for
            }
        }
#pragma omp target parallel for reduction(+ : n)
        for (int i = 0; i < 64; i++) n += a[i]; /* integer reduction */
#pragma omp target parallel for schedule(static, 4)
        for (int i = 0; i < 64; i++) a[i] += i; /* static */
    }
    return n == 1;
}
