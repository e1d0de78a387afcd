/* exit() in the middle of a region: handlers run once, the status is the program's. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static void bye(void) { printf("bye\n"); }
int main(void) {
    atexit(bye);
#pragma omp parallel num_threads(4)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 2) exit(23);
#pragma omp barrier
    }
    return 0;
}
