// A library that promp-cc has not built, with regions of its own in which threads wait for each other by
// flags: work that is done twice, or by another thread, shows in the sum, or never ends.
#include <omp.h>
#include "relay.h"

static volatile long turn;

double relay(double *x, int n, int laps) {
    double sum = 0;
    turn = 0;
#pragma omp parallel
    {
        long me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int lap = 0; lap < laps; lap++) {
            while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % all != me)
                ;
            for (int i = 0; i < n; i++) {
                x[i] = x[i] * 0.75 + (double)me + 1;
                sum += x[i];
            }
            __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
        }
    }
    return sum;
}
