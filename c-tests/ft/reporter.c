/* A program whose handler for crashes reports them and ends, as many do. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void report(int sig) {
    (void)sig;
    if (write(2, "crashed\n", 8)) _exit(3);
}

int main(void) {
    signal(SIGSEGV, report);
    long sum = 0;
    for (int r = 0; r < 4; r++) {
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            for (int k = 0; k < 20000; k++) sum += (i ^ k) % (r + 2);
    }
    printf("sum %ld\n", sum);
    return 0;
}
