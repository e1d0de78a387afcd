/* Steps with regions of as many threads as there are by default, and serial code between them. The sum does
   not depend on how many (arguments: steps; m: asks for their number, s: sets it). -DPRIVATE: has something
   of each thread's; -DNUMBER: asks for the number of the thread; -DONE: all steps are in one region;
   -DSTATIC: static loops; -DCHUNK=n: of chunks; -DTELLS: says how many there are; -DSTREAM: could have
   its output in memory; -DLATE: begins when there is a file "go". The team sizes met go to standard error. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif
enum { N = 60000, MOST = 64 };
static uint64_t a[N], b[N];
static int met[MOST + 1];
#ifdef PRIVATE
static int mine;
#pragma omp threadprivate(mine)
#endif

static uint64_t mix(uint64_t x) {
    for (int i = 0; i < 12; i++) x ^= x >> 31, x *= 0x9e3779b97f4a7c15u;
    return x;
}

#ifdef CHUNK
#define SCHEDULE(...) schedule(static, CHUNK)
#elif defined STATIC
#define SCHEDULE(...)
#else
#define SCHEDULE(...) schedule(__VA_ARGS__)
#endif
static void step(uint64_t s) {
#pragma omp for SCHEDULE(dynamic, 500)
    for (int i = 0; i < N; i++) b[i] = mix(a[i] + a[(i + 77) % N] + s);
#pragma omp for SCHEDULE(guided)
    for (int i = 0; i < N; i++) a[i] = b[N - 1 - i] + i;
}

#ifdef TELLS
static int told;
static void tell(const char *what, int n) { fprintf(stderr, "%s: %d\n", what, n); }
#endif

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 300;
#ifdef LATE
    while (access("go", F_OK)) {}
#endif
    if (argc > 2 && strchr(argv[2], 'm') && omp_get_max_threads() < 1) return 1;
    if (argc > 2 && strchr(argv[2], 's')) omp_set_num_threads(4);
#ifdef STREAM
    char *text;
    size_t length;
    if (argc > 9) stdout = open_memstream(&text, &length);
#endif
#ifdef TELLS
    told = omp_get_max_threads();
    fprintf(stderr, "told %d\n", told);
    if (omp_get_num_procs() > 1) tell("CPUs", omp_get_num_procs());
#endif
    uint64_t sum = 0;
#ifdef ONE
#pragma omp parallel
    for (int s = 0; s < steps; s++) step(s);
#else
    for (int s = 0; s < steps; s++) {
        int here = 0;
#pragma omp parallel
        {
            step(s);
#ifdef PRIVATE
            mine++;
#endif
#ifdef TELLS
            if (omp_get_thread_num() == 0) told = omp_get_num_threads();
            if (s == 0) fprintf(stderr, "%d of %d\n", omp_get_thread_num(), omp_get_num_threads());
#endif
#ifdef NUMBER
            if (omp_get_thread_num() < 0) abort();
#endif
#pragma omp atomic
            here++;
        }
        if (here > MOST) return 1;
        met[here] = 1;
        /* Nested teams have workers of their own. */
        if (s % 50 == 0) {
#pragma omp parallel num_threads(2)
#pragma omp parallel for schedule(dynamic, 1000) num_threads(2)
            for (int i = 0; i < N; i++)
#pragma omp atomic
                b[i] += i;
        }
        for (int i = 0; i < N; i += 16) sum = sum * 31 + a[i];
    }
#endif
    for (int i = 0; i < N; i++) sum = sum * 31 + a[i];
    printf("%016llx\n", (unsigned long long)sum);
#ifdef TELLS
    fprintf(stderr, "at last %d\n", told);
#endif
    for (int n = 1; n <= MOST; n++)
        if (met[n]) fprintf(stderr, "teams of %d\n", n);
    return 0;
}
