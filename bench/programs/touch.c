/* touch MIB small|huge [FILE]: how long memory takes to be touched for the first time, in pages of either size, a copy into it afterwards, and
 * writing it to FILE past the system's cache: time, and the CPUs' time in the kernel, interrupts, and for the machine's host (all processes). In
 * a virtual machine the first depends on whether the machine has used memory lately: wait ten seconds between two runs. No OpenMP. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double system_time(void) {
    double user, nice, system, idle, wait, irq, softirq, steal;
    FILE *f = fopen("/proc/stat", "r");
    if (!f || fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait, &irq, &softirq, &steal) != 8) exit(1);
    fclose(f);
    return (system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) return 64;
    const size_t huge = 2 << 20, n = (size_t)atol(argv[1]) << 20, page = 4096;
    char *p = mmap(0, n + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 1;
    p += -(size_t)p % huge;
    madvise(p, n, strcmp(argv[2], "huge") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    double t = now();
    for (size_t i = 0; i < n; i += page) p[i] = 1;
    printf("%s: first touch %.3f s", argv[2], now() - t);
    char *from = malloc(huge);
    memset(from, 1, huge);
    t = now();
    for (size_t i = 0; i < n; i += page) memcpy(p + i, from + i % huge, page);
    printf(", copy %.1f GB/s", (double)n / (now() - t) / 1e9);
    if (argc == 4) {
        int fd = open(argv[3], O_WRONLY | O_CREAT | O_DIRECT, 0600);
        for (int time = 0; time < 2; time++) { /* the second time the file has its blocks */
            double cpu = system_time();
            t = now();
            for (size_t i = 0, piece = 16 << 20; i < n; i += piece)
                if (pwrite(fd, p + i, n - i < piece ? n - i : piece, (off_t)i) < 0) return perror(argv[3]), 1;
            printf(", written in %.2f s, CPU time %.2f s", now() - t, system_time() - cpu);
        }
    }
    puts("");
}
