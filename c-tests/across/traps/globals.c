/* What functions keep for themselves, and share. */
#include "traps.h"

double level = 1, ceiling = 1e9;
int flag;
double cell[N];
static int number;
static double last, of_last, written, mean, means;
static const double table[4] = { 1, 0.5, 0.25, 0.125 };

int next_number(void) { return number = number * 5 + 1; }
double cached(double x) {
    if (x != last) {
        last = x;
        of_last = x * x;
    }
    return of_last;
}
void set_level(double x) { level = x; }
double get_level(void) { return level; }
void write_cell(int i, double x) { cell[i] = x; }
double read_cell(int i) { return cell[i]; }
void both_cells(int i) {
    double x = cell[i];
    cell[i] = cell[i + 1];
    cell[i + 1] = x;
}
void toggle_twice(double *to) {
    flag = !flag;
    *to = flag;
    flag = !flag;
}
void raise_ceiling(double x) { if (x > ceiling) ceiling = x; }
double from_table(int i) { return table[i & 3]; }
void last_written(double x) { written = x; }
static __attribute__((noinline)) double deeper(double x) {
    static double depth;
    return depth += x;
}
double __attribute__((noinline)) deep_count(double x) { return deeper(x) + 1; }
static __attribute__((noinline)) double deepest(double x) { return x * 0.5; }
double __attribute__((noinline)) pure_deep(double x) { return deepest(x) + deepest(1); }
double running_mean(double x) {
    means++;
    mean += (x - mean) / means;
    return mean;
}
void exchange_levels(void) {
    double x = level;
    level = ceiling;
    ceiling = x;
}
double own_square(double x) {
    static double square;
    square = x * x;
    return square;
}
