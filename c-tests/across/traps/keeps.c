/* What becomes of a pointer that a function gets. */
#include "traps.h"
#include <stdlib.h>
#include <string.h>

static double *one, *first, *table[N];
static uintptr_t numbers[N];

void remember(double *x) { one = x; }
void bump_remembered(void) { *one += 1; }
double remembered(void) { return *one; }
void file(int i, double *x) { table[i] = x; }
void bump_filed(int i) { *table[i] += 1; }
double filed(int i) { return *table[i]; }
double *same(double *x) { return x; }
double *one_behind(double *x) { return x + 1; }
double *new_row(int n) { return new_block(n); }
void first_wins(double *x) {
    if (!first) first = x;
    *first += 1;
}
void put_in(struct box *box, double *x) { box->at = x; }
void bump_in(struct box *box) { *box->at += box->scale; }
void out_in(const struct box *box, double x) { *box->at = x * box->scale; }
void copy_pointer(void *to, const void *from) { memcpy(to, from, sizeof(double *)); }
void bump_copied(const void *from) {
    double *x;
    memcpy(&x, from, sizeof x);
    *x += 1;
}
void note_number(int i, uintptr_t at) { numbers[i] = at ^ 1; }
void bump_noted(int i) { *(double *)(numbers[i] ^ 1) += 1; }
void give_back(double *x) { free(x); }
void forgets(double *x) {
    one = x;
    one = NULL;
    *x = 1;
}
