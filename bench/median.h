/* What measuring programs share. */
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `list`, sorted: its middle is the median. */
static double *sorted(double *list, int n) {
    qsort(list, (size_t)n, sizeof *list, ascending);
    return list;
}
