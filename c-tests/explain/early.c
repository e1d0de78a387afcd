// Asks the runtime for something before main begins: what it does when the program ends, it then does
// after the program's destructors.
#include <omp.h>

int threads_at_first;

__attribute__((constructor)) static void early(void) { threads_at_first = omp_get_max_threads(); }
