/* What the kernels of the NAS Parallel Benchmarks share (NAS reports RNR-94-007, NAS-95-020): random numbers
   x(k+1) = 5^13 x(k) mod 2^46, classes, verification, and the schedule of the loops.

   Loops come in three kinds, by the macro LOOP: the default (static, inlined by GCC), with -DDYNAMIC=chunk a
   dynamic schedule, so that chunks pass through the runtime, and with -DRUNTIME that of OMP_SCHEDULE. */
#ifndef NPB_H
#define NPB_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRAGMA(x) _Pragma(#x)
#ifdef DYNAMIC
#define LOOP(clauses) PRAGMA(omp for schedule(dynamic, DYNAMIC) clauses)
#define PARALLEL_LOOP(clauses) PRAGMA(omp parallel for schedule(dynamic, DYNAMIC) clauses)
#elif defined RUNTIME
#define LOOP(clauses) PRAGMA(omp for schedule(runtime) clauses)
#define PARALLEL_LOOP(clauses) PRAGMA(omp parallel for schedule(runtime) clauses)
#else
#define LOOP(clauses) PRAGMA(omp for clauses)
#define PARALLEL_LOOP(clauses) PRAGMA(omp parallel for clauses)
#endif

/* A longer run: so many times the iterations of the class. */
#ifndef TIMES
#define TIMES 1
#endif

/* With -DPLACES: where a checkpoint may be taken, and what is dead there. */
#ifdef PLACES
void promp_dead(const void *start, size_t bytes) __attribute__((weak));
void promp_potential_ckpt(void) __attribute__((weak));
#define DEAD(p, bytes) (promp_dead ? promp_dead(p, bytes) : (void)0)
#define PLACE() (promp_potential_ckpt ? promp_potential_ckpt() : (void)0)
#else
#define PLACES 0
#define DEAD(p, bytes) ((void)(bytes))
#define PLACE() ((void)0)
#endif

#define NPB_A UINT64_C(1220703125) /* 5^13 */
#define NPB_MASK ((UINT64_C(1) << 46) - 1)

/* The product modulo 2^46: the low 64 bits of a product are right modulo any smaller power of two. */
static inline uint64_t npb_mul(uint64_t a, uint64_t b) { return (a * b) & NPB_MASK; }

static inline uint64_t npb_pow(uint64_t a, uint64_t n) {
    uint64_t r = 1;
    for (; n; n >>= 1, a = npb_mul(a, a))
        if (n & 1) r = npb_mul(r, a);
    return r;
}

/* The next number in (0, 1). */
static inline double npb_rand(uint64_t *x) {
    *x = npb_mul(*x, NPB_A);
    return ldexp((double)*x, -46);
}

static inline char npb_class(int argc, char **argv) { return argc > 1 ? argv[1][0] : 'S'; }

static inline int npb_close(double got, double want, double relative) { return fabs((got - want) / want) <= relative; }

/* Prints the verdict; the program's exit status. */
static inline int npb_verdict(const char *name, char class, int ok) {
    printf("%s class %c: verification %s\n", name, class, ok ? "successful" : "FAILED");
    return ok ? 0 : 1;
}
#endif
