/* guarded STEPS: guards (MADV_GUARD_INSTALL) that come and go, in memory that is used, that never was, of a
   file (where that may be), and in the place of memory that is mapped anew. Each step looks which pages may
   be touched, and what is in them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGES = 64, BYTES = 4096, KINDS = 4, INSTALL = 102, REMOVE = 103 };
static unsigned char *m[KINDS];
static unsigned char guarded[KINDS][PAGES], content[KINDS][PAGES];
static int bad, of_files;

/* Its first byte; -1: it cannot be read. */
static int look(unsigned char *at) {
    unsigned char byte;
    struct iovec to = {&byte, 1}, from = {at, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 ? byte : -1;
}

static void change(int kind, int first, int n, int install) {
    if (madvise(m[kind] + first * BYTES, n * BYTES, install ? INSTALL : REMOVE)) bad++;
    memset(guarded[kind] + first, install, n);
    /* Of a file's pages the content is the file's again. */
    if (install) memset(content[kind] + first, kind == 2 ? 'f' : 0, n);
}

static void *map(int fd) {
    int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
    return mmap(NULL, PAGES * BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 0;
    double sum = 0;
    char name[] = "/tmp/promp-guarded-XXXXXX", text[PAGES * BYTES];
    int fd = mkstemp(name);
    memset(text, 'f', sizeof text);
    if (write(fd, text, sizeof text) != sizeof text) return 1;
    close(fd);
    fd = open(name, O_RDONLY);
    for (int k = 0; k < KINDS; k++) m[k] = map(k == 2 ? fd : -1);
    memset(content[2], 'f', PAGES);
    of_files = madvise(m[2], BYTES, INSTALL) == 0;
    if (madvise(m[0], BYTES, INSTALL) || look(m[0]) >= 0) {
        unlink(name);
        puts("not here");
        return 0;
    }
    guarded[0][0] = 1;
    guarded[2][0] = of_files;
    for (int step = 0; step < steps; step++) {
        for (int k = 0; k < KINDS; k++) {
            int first = (step * 7 + k * 5) % (PAGES - 8);
            if (k != 2 || of_files) change(k, first, 1 + step % 7, step % 3 != 2);
            /* What is not guarded is used, but for memory that never is. */
            int page = (step * 11 + k) % PAGES;
            if (k != 1 && !guarded[k][page]) m[k][page * BYTES] = content[k][page] = step % 251;
        }
        if (step % 10 == 9) {
            munmap(m[3], PAGES * BYTES);
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
            if (mmap(m[3], PAGES * BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) != m[3]) bad++;
            memset(guarded[3], 0, PAGES);
            memset(content[3], 0, PAGES);
        }
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (int i = 0; i < 20000; i++) sum += i % 7;
        for (int k = 0; k < KINDS; k++)
            for (int p = 0; p < PAGES; p++) {
                int is = look(m[k] + p * BYTES), want = guarded[k][p] ? -1 : content[k][p];
                if (is != want && bad++ < 5)
                    printf("step %d: memory %d page %d: %d instead of %d\n", step, k, p, is, want);
            }
        usleep(1000);
    }
    unlink(name);
    puts(bad ? "not kept" : "kept");
    return bad != 0;
}
