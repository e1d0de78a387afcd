/* Functions that are handed over: which one it is is known where that is done, if it stays the same. */
#include "traps.h"
#include <stdio.h>

#define ALONE_IN_CODE __attribute__((noinline, noclone))
static int tellings;
static ALONE_IN_CODE void sets_one(double *x) { *x = 1; }
static ALONE_IN_CODE void adds_one(double *x) { *x += 1; }
static ALONE_IN_CODE void tells_one(double *x) {
    char text[32];
    tellings++;
    *x = snprintf(text, sizeof text, "%d", 7) - 1;
}
static void sets_too(double *x) __attribute__((alias("sets_one")));
static ALONE_IN_CODE void hands_over(void (*f)(double *), double *x) { f(x); f(x); }
static ALONE_IN_CODE void hands_on(void (*f)(double *), double *x) { hands_over(f, x); hands_over(f, x); }
static ALONE_IN_CODE void hands_another(void (*f)(double *), double *x) {
    if (*x > -1) f = tells_one;
    hands_over(f, x);
}
void gets_set(double *x) { hands_over(sets_one, x); }
void gets_set_on(double *x) { hands_on(sets_one, x); }
void gets_more(double *x) { hands_on(adds_one, x); }
void gets_told(double *x) { hands_on(tells_one, x); }
void gets_both(double *x) { hands_over(sets_one, x); hands_over(tells_one, x); }
void gets_another(double *x) { hands_another(sets_one, x); }
void gets_set_too(double *x) { hands_over(sets_too, x); }
void gets_any(double *x, int n) { hands_on(n & 1 ? sets_one : tells_one, x); }
void gets_from_outside(double *x) { hands_on(bump_outside, x); }
