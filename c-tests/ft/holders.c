/* Threads that hold something when they fail: a critical section, a lock, a nestable lock, the single, an ordered turn, a
   section, a barrier's arrival. Output does not depend on the schedule. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    enum { R = 40 };
    long crit = 0, lock_sum = 0, nest_sum = 0, singles = 0, at = 0, bad = 0, sec[4] = {0}, priv = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel reduction(+ : priv)
    {
        for (int r = 0; r < R; r++) {
#pragma omp critical
            crit++;
            omp_set_lock(&lock);
            lock_sum++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            nest_sum++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
#pragma omp single
            singles++;
            long v = -1;
#pragma omp single copyprivate(v)
            v = r;
            priv += v == r;
#pragma omp sections
            {
#pragma omp section
                sec[0] = r;
#pragma omp section
                sec[1] = r + 1;
#pragma omp section
                sec[2] = r + 2;
            }
#pragma omp for ordered schedule(dynamic)
            for (int i = 0; i < 16; i++) {
                priv += i;
#pragma omp ordered
                {
                    bad += at != i;
                    at = (i + 1) % 16;
                }
            }
#pragma omp barrier
        }
    }
    int n = omp_get_max_threads();
    printf("critical %ld lock %ld nest %ld single %ld bad %ld sections %ld %ld %ld private %ld\n", crit / n, lock_sum / n,
           nest_sum / n, singles, bad, sec[0], sec[1], sec[2], priv - (long)n * R);
    return crit != (long)n * R;
}
