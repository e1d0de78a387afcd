/* All work is done in a critical section. */
#include "work.h"

int main(void) {
    for (int round = 0; round < 5; round++) {
#pragma omp parallel
        for (int i = 0; i < 20; i++) {
#pragma omp critical
            work(1);
        }
    }
    return 0;
}
