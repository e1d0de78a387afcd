/* A team of argv[1] threads, and then argv[2] milliseconds in which all but one have nothing to do: how much
   CPU time these take, in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static long used_ms(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000L + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]), here = 0;
    if (argc < 3)
        return 2;
#pragma omp parallel num_threads(n) reduction(+ : here)
    here++;
    /* Until they sleep. */
    usleep(1000 * 1000);
    long before = used_ms();
    usleep(1000 * atoi(argv[2]));
    printf("%d %ld\n", here, used_ms() - before);
    return 0;
}
