/* A loop whose first half has nearly all of the work. */
#include "work.h"

int main(void) {
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 8; i++) work(i < 4 ? 5 : 0.1);
    }
    return 0;
}
