/* OpenMP in a constructor, as libraries do: the runtime begins before the program does. For linking with another program. */
#include <omp.h>
int threads_at_load;
__attribute__((constructor)) static void early(void) { threads_at_load = omp_get_max_threads(); }
