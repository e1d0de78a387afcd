/* Old values are needed only where a loop writes what it reads. Built with promp-cc and run under libgomp by one thread, so that a loop
   is one segment; the old values come here. For many places of the two arrays: whoever overwrites an element that it has read before any
   write to it must have saved that element; where the arrays are far from each other, nothing is to be saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 13, N = 12 };
static double memory[2 * ROOM], before[2 * ROOM];
static long calls, gave_up;
static unsigned char saved[2 * ROOM], is_read[2 * ROOM], is_written[2 * ROOM];

void promp_undo(char *start, long size, long count0, long stride0, long count1, long stride1) {
    calls++;
    if (size > (long)sizeof memory) { gave_up = 1; return; }
    for (long j = 0; j < count1; j++)
        for (long i = 0; i < count0; i++)
            for (long at = start + i * stride0 + j * stride1 - (char *)memory, k = 0; k < size; k += sizeof(double))
                saved[(at + k) / sizeof(double)] = 1;
}

/* Loops that save old values have another version, which is not asked for here. */
int promp_saves(const void *site) { return site != 0; }

#define SHAPE(name, ...) \
    static __attribute__((noipa)) void name(double *a, const double *b, int n, int m) { \
        _Pragma("omp parallel for num_threads(1)") \
        for (int i = 0; i < n; i++) { __VA_ARGS__; } \
    }
#define HELPER(name, value) static __attribute__((noinline)) double name(const double *b, int i, int m) { return value; }
#define CALL(name, i, m) name(b, i, m)
#define PUT(k, x) (a[k] = (x))
#define GET(k) b[k]
#include "shapes.h"
#undef SHAPE
#undef HELPER
#undef CALL
#undef PUT
#undef GET

static double get(double *p) {
    if (!is_written[p - memory]) is_read[p - memory] = 1;
    return *p;
}
static void put(double *p, double x) {
    is_written[p - memory] = 1;
    *p = x;
}
#define SHAPE(name, ...) \
    static __attribute__((noipa)) void name##_watched(double *a, double *b, int n, int m) { \
        for (int i = 0; i < n; i++) { __VA_ARGS__; } \
    }
#define HELPER(name, value) static double name##_watched(const double *b, int i, int m) { return value; }
#define CALL(name, i, m) name##_watched(b, i, m)
#define PUT(k, x) put(&a[k], (x))
#define GET(k) get((double *)&b[k])
#include "shapes.h"
#undef SHAPE
#undef HELPER
#define HELPER(...)

static int tested, missed, wrong;

static void check(const char *name, void (*f)(double *, const double *, int, int), void (*watched)(double *, double *, int, int), long x, long y,
                  int n, int m, int *needless) {
    static double result[2 * ROOM];
    for (int i = 0; i < 2 * ROOM; i++) memory[i] = before[i];
    memset(saved, 0, sizeof saved), memset(is_read, 0, sizeof is_read), memset(is_written, 0, sizeof is_written);
    calls = gave_up = 0;
    f(memory + x, memory + y, n, m);
    memcpy(result, memory, sizeof memory);
    memcpy(memory, before, sizeof memory);
    watched(memory + x, memory + y, n, m);
    tested++;
    if (memcmp(result, memory, sizeof memory)) wrong++, printf("%s gives something else at %ld %ld\n", name, x, y);
    for (int i = 0; i < 2 * ROOM && !gave_up; i++)
        if (is_read[i] && is_written[i] && !saved[i]) {
            missed++;
            printf("%s (n %d, m %d) at %ld and %ld does not save element %d\n", name, n, m, x, y, i);
            break;
        }
    if (labs(x - y) >= ROOM / 2 && calls) *needless = 1;
}

/* Arguments: loops that were found to be opaque, which save nothing because they are never executed again. */
int main(int argc, char **argv) {
    unsigned long seed = 1;
    for (int i = 0; i < 2 * ROOM; i++) before[i] = i % 7;
#define SHAPE(name, ...) { \
        int needless = 0, opaque = 0; \
        for (int k = 1; k < argc; k++) opaque |= !strcmp(argv[k], #name); \
        for (int k = 0; k < 400 && !opaque; k++) { \
            seed = seed * 6364136223846793005ul + 1442695040888963407ul; \
            int n = seed >> 33 & 15, m = 1 + (seed >> 40 & 7); \
            long x = 2000 + (seed >> 45 & 255), y = k % 4 == 0 ? x + ROOM / 2 + (seed >> 54) : 2000 + (seed >> 54 & 255); \
            check(#name, name, name##_watched, k % 8 == 4 ? y : x, k % 8 == 4 ? x : y, n, m, &needless); \
        } \
        if (needless) printf("needless: %s\n", #name); \
    }
#include "shapes.h"
    printf("%d tested, %d missed, %d wrong\n", tested, missed, wrong);
    return missed || wrong;
}
