/* A loop of three threads, for programs in any language (tests/api_table.rs). */
#include <omp.h>
#include <unistd.h>

static long a[3000];
static volatile int begun, waited;

/* The sum over it. Thread 0 calls `first` before, if that is given. Nobody is done before thread 1 has begun:
 * who is to lose it does. */
long sum_of(void (*first)(void)) {
    long sum = 0;
    begun = waited = 0;
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 0 && first) first();
#pragma omp for schedule(dynamic, 100)
        for (int i = 0; i < 3000; i++) {
            if (omp_get_thread_num() == 1) begun = 1;
            while (!begun && waited++ < 2000) usleep(1000);
            for (volatile int k = 0; k < 5000; k++) {
            }
            a[i] = i;
        }
    }
    for (int i = 0; i < 3000; i++) sum += a[i];
    return sum;
}
