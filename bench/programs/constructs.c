/* constructs N WHICH: one construct N times; for counting instructions. */
#include <omp.h>
#include <stdlib.h>

#define NOTHING() __asm__ volatile("")

static long shared;

int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[1]) : 0;
    int which = argc > 2 ? atoi(argv[2]) : 0;
    omp_nest_lock_t nest;
    omp_lock_t lock;
    omp_init_nest_lock(&nest);
    omp_init_lock(&lock);
    switch (which) {
    case 0:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp barrier
        }
        break;
    case 1:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp single
            NOTHING();
        }
        break;
    case 2:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp for
            for (int j = 0; j < 2; j++) NOTHING();
        }
        break;
    case 3:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp taskgroup
            {
#pragma omp task
                NOTHING();
            }
        }
        break;
    case 4:
#pragma omp parallel for ordered schedule(static, 1)
        for (long i = 0; i < n; i++) {
#pragma omp ordered
            NOTHING();
        }
        break;
    case 5:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
            omp_set_nest_lock(&nest);
            shared++;
            omp_unset_nest_lock(&nest);
        }
        break;
    case 6:
        for (long i = 0; i < n; i++) {
#pragma omp parallel
            NOTHING();
        }
        break;
    case 7:
        for (long i = 0; i < n; i++) {
            omp_set_lock(&lock);
            shared++;
            omp_unset_lock(&lock);
        }
        break;
    case 8:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp for schedule(dynamic, 32)
            for (int j = 0; j < 32; j++) NOTHING();
        }
        break;
    case 9:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp for schedule(dynamic, 8)
            for (int j = 0; j < 32; j++) NOTHING();
        }
        break;
    case 10:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp for schedule(monotonic : dynamic, 8)
            for (int j = 0; j < 32; j++) NOTHING();
        }
        break;
    case 11:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp for schedule(guided)
            for (int j = 0; j < 32; j++) NOTHING();
        }
        break;
    case 12:
#pragma omp parallel
        for (long i = 0; i < n; i++) {
#pragma omp sections
            {
#pragma omp section
                NOTHING();
#pragma omp section
                NOTHING();
            }
        }
        break;
    case 13:
        for (long i = 0; i < n; i++) {
#pragma omp critical
            shared++;
        }
        break;
    case 15:
#pragma omp parallel for ordered(1) schedule(static, 1)
        for (long i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
            NOTHING();
#pragma omp ordered depend(source)
        }
        break;
    case 16:
#pragma omp parallel for ordered(1) schedule(dynamic, 1)
        for (long i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
            NOTHING();
#pragma omp ordered depend(source)
        }
        break;
    default:
#pragma omp parallel
#pragma omp single
#pragma omp task final(1)
        for (long i = 0; i < n; i++) {
#pragma omp task final(1)
            NOTHING();
        }
    }
    return 0;
}
