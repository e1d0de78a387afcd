/* Functions that work in blocks which functions of other files return (makes.c). */
#include "traps.h"
#include <stdlib.h>

__attribute__((noinline)) static double *own_row(int n) { return calloc(n, sizeof(double)); }
static double sum_in(double *t, double *in) {
    add_up(t, in, 3);
    add_up(t, in, 3);
    return last_of(t, 3);
}
double of_a_new_row(double *in) {
    double *t = new_row(3), s = sum_in(t, in);
    give_back(t);
    return s;
}
double of_an_own_row(double *in) {
    double *t = own_row(3), s = sum_in(t, in);
    give_back(t);
    return s;
}
double of_a_cached_row(double *in) { return sum_in(cached_row(3), in); }
double of_a_kept_row(double *in, int i) { return sum_in(kept_row(i), in); }
double of_a_row_that_is_given(double *in, double *t) { return sum_in(same(t), in); }
double of_a_row_inside(double *in, double *t) {
    double *x = new_row(3), s = sum_in(row_of(&x, t), in);
    give_back(x);
    return s;
}
double of_a_shared_row(double *in) { return sum_in(shared_row(3), in); }
