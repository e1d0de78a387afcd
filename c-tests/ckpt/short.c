/* Shared memory that is not all there: mappings longer than what is mapped (touching the rest is SIGBUS,
   which the program catches), a page that nobody may touch, and a hole. argv[1]: how many steps. */
#define _GNU_SOURCE
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / sizeof(long) };

static sigjmp_buf back;
static void caught(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static long *map(int fd, size_t pages) {
    int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
    long *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED) {
        perror("mmap");
        exit(3);
    }
    return p;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 150, buses = 0;
    char name[] = "/tmp/promp-short-XXXXXX";
    int memory = memfd_create("short", 0), file = mkstemp(name);
    if (memory < 0 || file < 0 || ftruncate(memory, PAGE) || ftruncate(file, PAGE + 100)) return 3;
    long *a = map(memory, 3), *b = map(file, 4), *c = map(-1, 8);
    close(memory);
    if (mprotect(c + WORDS, PAGE, PROT_NONE) || munmap(c + 3 * WORDS, PAGE)) return 3;
    signal(SIGBUS, caught);
    for (int s = 0; s < steps; s++) {
        double until = omp_get_wtime() + 0.002;
#pragma omp parallel
        {
            while (omp_get_wtime() < until) {}
#pragma omp for
            for (int i = 0; i < WORDS; i++) {
                a[i] = a[i] * 3 % 1009 + s;
                b[i] = b[i] * 5 % 1013 + s;
                c[i] += s;
                c[2 * WORDS + i] += i;
                c[5 * WORDS + i] ^= s;
            }
        }
        if (s % 30 != 29) continue;
        if (sigsetjmp(back, 1)) buses++;
        else printf("%ld is there\n", *(volatile long *)(b + 3 * WORDS));
    }
    long sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum += a[i] * 7 + b[i] * 5 + c[i] + c[2 * WORDS + i] * 3 + c[5 * WORDS + i];
    printf("%ld, caught %d times\n", sum, buses);
    unlink(name);
    return 0;
}
