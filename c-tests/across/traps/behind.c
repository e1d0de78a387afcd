/* Memory behind structures: members that lead to arrays, that are exchanged, freed and made anew. */
#include "traps.h"
#include <stdlib.h>
#include <string.h>

static void (*kernel)(double *);

void add_members(struct work *w, int i) { w->out[i] += w->in[i]; }
void set_members(struct work *w, int i) { w->out[i] = w->in[i]; }
void set_behind_value(struct work w, int i) { w.out[i] = w.in[i]; }
void exchange_members(struct work *w) {
    double *t = w->in;
    w->in = w->out;
    w->out = t;
}
void add_in_list(struct work *w, int i) {
    for (; w; w = w->next) w->out[i] += 1;
}
void add_twice_removed(struct work **w, int i) { (*w)->out[i] += 1; }
void count_in(struct work *w) { w->n++; }
__attribute__((noinline)) static void scale_both(double *x, double *y, int n) {
    for (int k = 0; k < n; k++) {
        x[k] = x[k] * 0.5 + 1;
        y[k] = y[k] * 0.5 - 1;
    }
}
void scale_row_of(struct work *w, int i) {
    double t[4] = { 4, 3, 2, 1 };
    scale_both(t, w->out + i, 1);
    w->out[i] += t[0];
}
void replan(struct plan *p, int n) {
    if (p->length == n) return;
    free(p->table);
    p->table = malloc(n * sizeof *p->table);
    for (int k = 0; k < n; k++) p->table[k] = k + 0.5;
    p->length = n;
}
void grow(struct plan *p, int n) {
    if (n <= p->length) return;
    p->table = realloc(p->table, n * sizeof *p->table);
    for (int k = p->length; k < n; k++) p->table[k] = k;
    p->length = n;
}
void count_up(struct plan *p) {
    for (int k = 0; k < p->length; k++) p->table[k]++;
}
double planned(const struct plan *p, int k) { return p->table[k % p->length]; }
double of_scratch(const double *in, int n) {
    double *t = malloc(n * sizeof *t), s = 0;
    memcpy(t, in, n * sizeof *t);
    scale_both(t, t, n);
    for (int k = 0; k < n; k++) s += t[k];
    free(t);
    return s;
}
void push(struct work **list, double *out) {
    struct work *w = malloc(sizeof *w);
    *w = (struct work){ out, out, 1, *list };
    *list = w;
}
void pop(struct work **list) {
    struct work *w = *list;
    *list = w->next;
    free(w);
}
static void one_more(double *x) { *x += 1; }
void by_the_kernel(double *x) {
    if (!kernel) kernel = one_more;
    kernel(x);
}
void scale_some(double *x, int n) {
    for (int k = 0; k < n; k++) x[k] = x[k] * 0.75 + 1;
    if (n & 1) x[1] += 2;
}
void bump_bits(struct bits *x) { x->low++; }

void bump_outside(double *x) { *x += 1; }
