/* Most of the work is done by one thread, between regions. */
#include "work.h"

int main(void) {
    for (int round = 0; round < 20; round++) {
        work(20);
#pragma omp parallel
        work(2);
    }
    return 0;
}
