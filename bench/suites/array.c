/* Data clauses on arrays of 1, 81 and 6561 doubles. */
#include "bench.h"

#define P(...) _Pragma(#__VA_ARGS__)
#define CLAUSES(N) \
    static double array_##N[N], copied_##N[N]; \
    P(omp threadprivate(copied_##N)) static void private_##N(long n) { \
        double a[N]; \
        for (long k = 0; k < n; k++) { \
            P(omp parallel private(a)) { __asm__ volatile("" : : "r"(a) : "memory"); } \
        } \
    } \
    static void firstprivate_##N(long n) { \
        double a[N]; \
        memset(a, 0, sizeof a); \
        for (long k = 0; k < n; k++) { \
            P(omp parallel firstprivate(a)) { __asm__ volatile("" : : "r"(a) : "memory"); } \
        } \
    } \
    static void copyin_##N(long n) { \
        for (long k = 0; k < n; k++) { \
            P(omp parallel copyin(copied_##N)) { __asm__ volatile("" : : "r"(copied_##N) : "memory"); } \
        } \
    } \
    static void copyprivate_##N(long n) { \
        P(omp parallel) for (long k = 0; k < n; k++) { \
            P(omp single copyprivate(copied_##N)) { __asm__ volatile("" : : "r"(copied_##N) : "memory"); } \
        } \
    } \
    static void reduction_##N(long n) { \
        for (long k = 0; k < n; k++) { \
            P(omp parallel reduction(+ : array_##N)) array_##N[k % N] += 1; \
        } \
    } \
    static void lastprivate_##N(long n) { \
        double a[N]; \
        P(omp parallel) for (long k = 0; k < n; k++) { \
            P(omp for lastprivate(a)) for (int i = 0; i < 16; i++) { \
                a[i % N] = i; \
                __asm__ volatile("" : : "r"(a) : "memory"); \
            } \
        } \
    } \
    static void all_##N(void) { \
        row("private " #N, 1, private_##N); \
        row("firstprivate " #N, 1, firstprivate_##N); \
        row("copyin " #N, 1, copyin_##N); \
        row("copyprivate " #N, 1, copyprivate_##N); \
        row("reduction " #N, 1, reduction_##N); \
        row("lastprivate " #N, 1, lastprivate_##N); \
    }
CLAUSES(1)
CLAUSES(81)
CLAUSES(6561)

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : 0;
    all_1();
    all_81();
    all_6561();
    return 0;
}
