/* A program that works in files: reads parts, changes them, writes them back. What is in them goes back with the program, or the answer is wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCKS = 48, N = 1000 }; /* a block is no multiple of a page */
static uint64_t state;
static unsigned below(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}
static void need(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(3);
    }
}
static char names[5][4096];
static int path(int i, int flags) {
    int fd = open(names[i], flags, 0600);
    need(fd >= 0, names[i]);
    return fd;
}
static uint64_t sum_of(int fd) {
    unsigned char bytes[8192];
    uint64_t sum = 14695981039346656037u;
    ssize_t n;
    for (off_t at = 0; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n)
        for (ssize_t i = 0; i < n; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}
static void wait_a_little(void) { /* time for something to happen */
    double until = omp_get_wtime() + 0.002;
#pragma omp parallel
    while (omp_get_wtime() < until) {}
}

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[2]) : 200;
    state = argc > 3 ? strtoul(argv[3], 0, 0) : 1;
    const char *files[5] = {"matrix", "pair", "again", "log", "short"};
    for (int i = 0; i < 5; i++) snprintf(names[i], sizeof names[i], "%s/%s", argv[1], files[i]);
    static double block[N];
    int matrix = path(0, O_RDWR | O_CREAT | O_TRUNC);
    for (int b = 0; b < BLOCKS; b++)
        if (b % 5) need(pwrite(matrix, block, sizeof block, b * (off_t)sizeof block) == sizeof block, "matrix");
    int writes = path(1, O_WRONLY | O_CREAT | O_TRUNC), reads = path(1, O_RDONLY);
    int log = path(3, O_RDWR | O_CREAT | O_TRUNC | O_APPEND), shrinks = path(4, O_RDWR | O_CREAT | O_TRUNC);
    FILE *again = fopen(names[2], "w"), *scratch = tmpfile();
    need(again && scratch, "a file");
    uint64_t seen = 0;
    for (int step = 0; step < steps; step++) {
        /* a block of the matrix */
        off_t at = below(BLOCKS) * (off_t)sizeof block;
        need(pread(matrix, block, sizeof block, at) >= 0, "read");
#pragma omp parallel for
        for (int i = 0; i < N; i++) block[i] = block[i] * 0.75 + i % 13 + step;
        wait_a_little();
        need(pwrite(matrix, block, sizeof block, at) == sizeof block, "write");
        /* a counter in an unnamed file */
        long count = 0;
        rewind(scratch);
        if (fread(&count, sizeof count, 1, scratch) != 1) count = 0;
        count += step;
        rewind(scratch);
        need(fwrite(&count, sizeof count, 1, scratch) == 1 && fflush(scratch) == 0, "scratch");
        /* a file with one descriptor for reading and one for writing */
        uint64_t old = 0;
        off_t where = below(4000);
        need(pread(reads, &old, sizeof old, where) >= 0, "pair");
        old = old * 31 + step + count;
        need(pwrite(writes, &old, sizeof old, where) == sizeof old, "pair");
        /* a file that is begun anew */
        fprintf(again, "%d %ld\n", step, count);
        if (below(9) == 0) {
            fclose(again);
            need((again = fopen(names[2], below(2) ? "w" : "a")) != 0, "again");
        }
        /* lines */
        dprintf(log, "step %d: %ld %llx\n", step, count, (unsigned long long)old);
        /* a file that grows and shrinks */
        off_t length = lseek(shrinks, 0, SEEK_END);
        need(write(shrinks, block, below(sizeof block)) >= 0, "short");
        if (below(6) == 0) need(ftruncate(shrinks, length / 3) == 0, "short");
        /* the number of a descriptor that means something else for a while */
        if (below(8) == 0) {
            close(matrix);
            int fd = path(0, O_RDONLY);
            wait_a_little();
            seen = seen * 3 + sum_of(fd);
            close(fd);
            matrix = path(0, O_RDWR);
        }
    }
    fclose(again);
    printf("%llx %llx\n", (unsigned long long)seen, (unsigned long long)sum_of(fileno(scratch)));
    for (int i = 0; i < 5; i++) printf("%s %llx\n", files[i], (unsigned long long)sum_of(path(i, O_RDONLY)));
    return 0;
}
