/* reading MIB: what it costs to read memory that may be gone, in pieces of several sizes: by process_vm_readv, by write(2) into a file without
 * a name, and a plain copy, which must not be used for such memory, beside them. Nanoseconds a page. No OpenMP. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 512 };
static char *from;
static size_t bytes;
static char to[MOST * PAGE] __attribute__((aligned(PAGE)));
static int file;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_copy(char *at, size_t n) {
    memcpy(to, at, n);
    return 1;
}
static int by_readv(char *at, size_t n) {
    struct iovec here = {to, n}, there = {at, n};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)n;
}
static int by_write(char *at, size_t n) { return pwrite(file, at, n, 0) == (ssize_t)n; }

static void measure(const char *name, int (*read)(char *, size_t)) {
    for (size_t pages = 16; pages <= MOST; pages *= 2) {
        double began = now();
        for (size_t o = 0; o + pages * PAGE <= bytes; o += pages * PAGE)
            if (!read(from + o, pages * PAGE)) exit(1);
        printf("%s %zu pages: %.0f ns/page\n", name, pages, (now() - began) / (double)(bytes / PAGE) * 1e9);
    }
}

int main(int argc, char **argv) {
    bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 512) << 20;
    from = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    file = memfd_create("reading", 0);
    memset(from, 1, bytes), memset(to, 1, sizeof to);
    if (pwrite(file, to, sizeof to, 0) != sizeof to) return 1;
    measure("copy", by_copy);
    measure("process_vm_readv", by_readv);
    measure("write", by_write);
    return 0;
}
