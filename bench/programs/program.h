/* What the task programs share: run it, print "time<TAB>seconds" and "result<TAB>value"; the value must be the same under every runtime. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t mix(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* `size` (first argument or the default) to the program; its result is an integer. */
static long long solve(int size);

#define PROGRAM(DEFAULT) \
    int main(int argc, char **argv) { \
        int size = argc > 1 ? atoi(argv[1]) : DEFAULT; \
        solve(2); \
        double t = omp_get_wtime(); \
        long long r = solve(size); \
        printf("time\t%.6f\nresult\t%lld\n", omp_get_wtime() - t, r); \
        return 0; \
    }
