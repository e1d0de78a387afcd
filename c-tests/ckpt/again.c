/* A thread that ends itself (argv[1] "exit"), crashes ("crash") or waits for ever ("wait"). argv[2] "same":
   each time the program comes to the same place; "random": now and then, by numbers that no rollback takes
   back; "inside": the same place, in a region in which much goes by before. Else prints the right sum. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { REGIONS = 120, SAME = 60 };
static const char *how;
static volatile int never;
static void fail(void) {
    if (!strcmp(how, "exit")) syscall(SYS_exit, 0);
    if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(how, "wait"))
        while (!never) {}
}
static int rarely(void) {
    unsigned n = 0;
    if (getrandom(&n, sizeof n, 0) != sizeof n) exit(77);
    return n % 12 == 0;
}
int main(int argc, char **argv) {
    if (argc < 3) return 2;
    how = argv[1];
    int same = !strcmp(argv[2], "same"), inside = !strcmp(argv[2], "inside");
    long sum = 0;
    for (int r = 0; r < (inside ? 1 : REGIONS); r++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        for (int i = 0; i < (inside ? REGIONS : 1); i++) {
            usleep(2000);
            if (omp_get_thread_num() == 1 && (same || inside ? r + i == SAME : rarely())) fail();
#pragma omp barrier
            sum += r + i;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
