/* Guard pages (MADV_GUARD_INSTALL, Linux 6.13; glibc 2.42 has them in threads' stacks): memory that can neither be read nor written and whose
   content is gone, though its mapping allows everything. On older kernels the content goes and the pages stay. Argument: seed (unused). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { PAGES = 4096, LONGS = 512, BYTES = 4096, STEPS = 90, INSTALL = 102, REMOVE = 103 };
static long *m;
static void guard(int first, int n) {
    if (madvise(m + first * LONGS, n * BYTES, INSTALL)) madvise(m + first * LONGS, n * BYTES, MADV_DONTNEED);
}
static void bare(int first, int n) { madvise(m + first * LONGS, n * BYTES, REMOVE); }
int main(void) {
    m = mmap(0, PAGES * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long *fresh = mmap(0, 64 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED || fresh == MAP_FAILED) return 1;
    /* Like a stack: a guard at the low end of memory that is used. */
    madvise(fresh, 4 * BYTES, INSTALL);
    fresh[10 * LONGS] = 5;
    for (int i = 0; i < PAGES; i++) m[i * LONGS] = i;
    guard(100, 16);
    long sum = 0;
    for (int step = 0; step < STEPS; step++) {
        /* Comes and goes: some rollbacks lead to before it came, some to before it went. */
        int closed = step % 30 >= 10 && step % 30 < 20;
        if (step % 30 == 10) guard(3000, 40);
        if (step % 30 == 20) bare(3000, 40);
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 64)
        for (int i = 0; i < PAGES; i++) {
            if ((i >= 100 && i < 116) || (closed && i >= 3000 && i < 3040)) continue;
            m[i * LONGS] = m[i * LONGS] * 3 + step;
            sum += m[i * LONGS] & 1023;
            for (volatile int w = 0; w < 3000; w++);
        }
    }
    printf("%ld %ld\n", sum, fresh[10 * LONGS]);
    return 0;
}
