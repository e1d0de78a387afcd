/* Work as even as can be: what is lost is lost by the CPUs. */
#include "work.h"

int main(void) {
    for (int round = 0; round < 20; round++) {
#pragma omp parallel
        work(10);
    }
    return 0;
}
