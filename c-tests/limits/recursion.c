/* Recursion through nested regions: twenty levels, each of two threads, one of which goes deeper. */
#include <omp.h>
#include <stdio.h>
static long deeper(int n) {
    long sum = 0;
    if (n == 0) return 1;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        if (omp_get_thread_num() == 1) sum += deeper(n - 1);
        sum += omp_get_level() * omp_get_num_threads() + omp_get_ancestor_thread_num(1);
    }
    return sum;
}
int main(void) {
    omp_set_max_active_levels(64);
    for (int i = 0; i < 5; i++) printf("%ld\n", deeper(20));
    return 0;
}
