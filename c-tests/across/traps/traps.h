/* Functions of other files that traps.c calls. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { N = 256 };
extern double a[N], b[N], c[N], cell[N];
extern double level, ceiling;
extern int flag;
struct box { double *at; double scale; };
struct acts { void (*act)(double *); double (*ask)(double); };

struct work { double *in, *out; int n; struct work *next; };
struct plan { double *table; int length; };
struct bits { unsigned low : 3, high : 13; };

/* behind.c: memory behind structures */
void add_members(struct work *w, int i);
void set_members(struct work *w, int i);
void set_behind_value(struct work w, int i);
void exchange_members(struct work *w);
void add_in_list(struct work *w, int i);
void add_twice_removed(struct work **w, int i);
void count_in(struct work *w);
void scale_row_of(struct work *w, int i);
void replan(struct plan *p, int n);
void grow(struct plan *p, int n);
void count_up(struct plan *p);
double planned(const struct plan *p, int k);
double of_scratch(const double *in, int n);
void push(struct work **list, double *out);
void pop(struct work **list);
void by_the_kernel(double *x);
void scale_some(double *x, int n);
void bump_bits(struct bits *x);

/* keeps.c: what becomes of a pointer */
void remember(double *x);
void bump_remembered(void);
double remembered(void);
void file(int i, double *x);
void bump_filed(int i);
double filed(int i);
double *same(double *x);
double *one_behind(double *x);
void first_wins(double *x);
void put_in(struct box *box, double *x);
void bump_in(struct box *box);
void out_in(const struct box *box, double x);
void copy_pointer(void *to, const void *from);
void bump_copied(const void *from);
void note_number(int i, uintptr_t at);
void bump_noted(int i);
void give_back(double *x);
void forgets(double *x);
double *new_row(int n);

/* makes.c: blocks; rows.c: those who work in them */
double *new_block(int n);
double *cached_row(int n);
double *kept_row(int i);
double *row_of(double **x, double *t);
void add_up(double *t, const double *in, int n);
double last_of(const double *t, int n);
double of_a_new_row(double *in);
double of_an_own_row(double *in);
double of_a_cached_row(double *in);
double of_a_kept_row(double *in, int i);
double of_a_row_that_is_given(double *in, double *t);
double of_a_row_inside(double *in, double *t);
double of_a_shared_row(double *in);

/* globals.c: what a function keeps for itself */
int next_number(void);
double cached(double x);
void set_level(double x);
double get_level(void);
void write_cell(int i, double x);
double read_cell(int i);
void both_cells(int i);
void toggle_twice(double *to);
void raise_ceiling(double x);
double from_table(int i);
void last_written(double x);
double deep_count(double x);
double pure_deep(double x);
double running_mean(double x);
void exchange_levels(void);
double own_square(double x);

/* called.c: who calls whom */
double apply(double (*f)(double), double x);
void act_on(const struct acts *acts, double *x);
void set_act(void (*f)(double *));
void act(double *x);
void also_bump(double *x);
void sort_three(double *x);
int compare(const void *x, const void *y);
int compare_and_count(const void *x, const void *y);
double half(double x);
double third(double x);
void bump(double *x);
void in_turn(double *x, int n);
void gets_set(double *x), gets_set_on(double *x), gets_more(double *x), gets_told(double *x);
void gets_both(double *x), gets_another(double *x), gets_set_too(double *x), gets_any(double *x, int n);
void gets_from_outside(double *x), bump_outside(double *x);
extern void not_there(double *x) __attribute__((weak));
extern void there(double *x) __attribute__((weak));

/* chosen.c, other definitions in replaced.c */
void chosen_out(double *x, double v);
void chosen_in_place(double *x, double v);
double chosen_value(int i);
void chosen_quiet(double *x);
void chosen_row(double *to, const double *from);
void calls_chosen(double *x, double v);

/* shared.c, in a library; other definitions in preloaded.c */
void shared_out(double *x, double v);
double shared_value(double x);
double *shared_row(int n);
void shared_pair(double *x, double *y);
void shared_through(double *x, double v);
void shared_inner(double *x, double v);
