/* What the C library takes the CPU for, and which copy routine that made it choose. -DWIDE: has code that the
   compiler has made for AVX-512. Argument: steps of work with regions before it prints a sum. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/platform/x86.h>
enum { N = 40000 };
static uint64_t a[N];
#ifdef WIDE
__attribute__((target("avx512f"), noinline)) void wide(double *x) {
    for (int i = 0; i < N; i++) x[i] *= 3;
}
#endif

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 0;
    Dl_info info;
    void *copy = dlsym(RTLD_DEFAULT, "memcpy");
    if (!copy || !dladdr(dlsym(RTLD_DEFAULT, "puts"), &info)) return 1;
#ifdef WIDE
    if (argc > 5) wide((double *)a);
#endif
    for (int s = 0; s < steps; s++) {
#pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 12; k++) a[i] = (a[i] ^ a[i] >> 31) * 0x9e3779b97f4a7c15u + i + s;
        memcpy(a, a + N / 2, sizeof a / 4);
    }
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) sum = sum * 31 + a[i];
    printf("avx2 %d avx512f %d ", CPU_FEATURE_ACTIVE(AVX2) != 0, CPU_FEATURE_ACTIVE(AVX512F) != 0);
    printf("avx512vl %d xsavec %d ", CPU_FEATURE_ACTIVE(AVX512VL) != 0, CPU_FEATURE_ACTIVE(XSAVEC) != 0);
    printf("memcpy %lx sum %llx\n", (long)((char *)copy - (char *)info.dli_fbase), (unsigned long long)sum);
    return 0;
}
