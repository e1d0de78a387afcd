/* How many threads and CPUs there are, and how large teams become, on the host and in a target region. */
#include <omp.h>
#include <stdio.h>
static void show(void) {
    int size = 0, places = 0;
#pragma omp parallel reduction(max : places)
    {
        size = omp_get_num_threads();
        places = omp_get_place_num() + 1;
    }
    printf("%d %d %d %d %d\n", omp_get_max_threads(), omp_get_num_procs(), size, omp_get_num_places(), places);
}
int main(void) {
    show();
#pragma omp target
    show();
    return 0;
}
