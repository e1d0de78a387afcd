/* What writing alone costs a program: writes MB past the system's cache to FILE every SECONDS, from memory in use, while COMMAND runs.
 *     writer MB SECONDS FILE COMMAND...
 * Prints how long the command took, the number of writes, how long one took. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 5) return fprintf(stderr, "usage: writer MB SECONDS FILE COMMAND...\n"), 2;
    size_t bytes = (size_t)atoi(argv[1]) << 20;
    double every = atof(argv[2]);
    unsigned long *words = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < bytes / sizeof *words; i++) words[i] = i * 0x9E3779B97F4A7C15ul;
    int file = open(argv[3], O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (file < 0) return perror(argv[3]), 1;
    double began = now(), next = began + every, spent = 0;
    pid_t child = fork();
    if (!child) {
        execvp(argv[4], argv + 4);
        _exit(127);
    }
    int status, writes = 0;
    while (waitpid(child, &status, WNOHANG) != child) {
        if (now() >= next) {
            double t = now();
            size_t piece = 4 << 20, base = (writes++ & 1) * bytes; /* two generations */
            next = t + every;
            for (size_t at = 0; at < bytes; at += piece)
                if (pwrite(file, (char *)words + at, piece, base + at) < 0) return perror(argv[3]), 1;
            fdatasync(file);
            spent += now() - t;
        }
        usleep(20000);
    }
    printf("%.2f s, %d writes of %.2f s\n", now() - began, writes, writes ? spent / writes : 0);
    unlink(argv[3]);
    return status != 0;
}
