/* Functions that loops.c calls; they are in other files. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { N = 256, M = 8 };
extern double a[N], b[N], c[N], g[N][M];
extern double level;
extern int count;
extern _Thread_local int turns;
struct box { double *at; };

/* functions.c */
double twice(double x);
void out(double *to, double x);
void relax(double *x, int times);
void bump(double *x);
void pair_sum(double *x);
void shift(double *x);
void keep(double *x, int i);
void through_kept(int i);
void tick(void);
void set_level(double x);
double get_level(void);
double get_a(int i);
double get_b(int i);
double own_count(void);
void print(double x);
void copy(double *to, const double *from);
void fill(double *row, double x, int n);
double sum(const double *row, int n);
void scale(double *row, int n);
void volatile_write(double *to);
void atomic_add(double *to);
void bump_number(uintptr_t at);
double get_number(uintptr_t at);
void bump_box(struct box x);
void bump_behind(double **row);
void out_behind(double **row, double x);
double call_back(int i);
double call_back_harmless(int i);
void turn(void);
void root(double *to, double x);
double *slot(int i);
void bump_all(int n, ...);
void complains(double *to, double x);
void copy_row(double *to, const double *from);
void maybe_bump(double *x, int yes);
void chosen(double *x, double v);
void calls_the_unknown_too(double *x);
double with_scratch(double x);
void last_of_two(double *first, double *second, double x);
void calls_pointer(void (*f)(double *), double *x);
void swap(double *x, double *y);

/* more.c */
void outer_out(double *to, double x);
void outer_bump(double *x);
void outer_level(double x);
void even(double *to, int n);
void odd(double *to, int n);
void walks(double *to, int n);
void inner_bump(double *x);

/* loops.c */
double back(int i);
double back_harmless(int i);

/* unknown.c, which another compiler builds */
void unknown(double *x, double v);
