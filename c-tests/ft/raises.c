/* Threads of low priority, all on one CPU, that send themselves nothing: they are nearly always where they
   are about to use their ids. argv[1]: how many regions. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Begins anew on the first CPU that it may use, with all threads of the process. */
static void begin_on_one_cpu(char **argv) {
    cpu_set_t may, first;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) == 1) return;
    while (!CPU_ISSET(cpu, &may)) cpu++;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    if (sched_setaffinity(0, sizeof first, &first) || execv("/proc/self/exe", argv)) perror("one CPU");
}

int main(int argc, char **argv) {
    begin_on_one_cpu(argv);
    int regions = argc > 1 ? atoi(argv[1]) : 100;
    long failed = 0, sum = 0;
#pragma omp parallel
    if (setpriority(PRIO_PROCESS, syscall(SYS_gettid), 10)) perror("setpriority");
    for (int r = 0; r < regions; r++) {
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : failed, sum)
        for (int i = 0; i < 32; i++) {
            for (int k = 0; k < 500; k++) failed += raise(0) != 0;
            sum += i * r;
        }
    }
    printf("%ld failed, %ld\n", failed, sum);
    return failed != 0;
}
