/* Large memory that changes as a whole, in all the ways that programs have: swept, written to here and there, filled by system calls, moved, grown,
   given back, inherited by children. argv[1]: seed. The result does not depend on time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARRAYS = 5, STEPS = 700, LEAST = 3 << 20, MOST = 24 << 20 };

static uint64_t random_state;
static uint64_t draw(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

struct array {
    uint64_t *at;
    size_t bytes;
    int mapped; /* by mmap, not malloc */
};

static uint64_t fixed[LEAST / 8]; /* .bss */

static void fill(struct array *a, uint64_t with) {
    size_t n = a->bytes / 8;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) a->at[i] = with * (i + 1);
}

static void make(struct array *a) {
    a->bytes = (LEAST + draw(MOST - LEAST)) & ~7ul;
    a->mapped = draw(2);
    a->at = a->mapped ? mmap(0, a->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(a->bytes);
    fill(a, draw(1000));
}

static void give_back(struct array *a) {
    if (a->mapped)
        munmap(a->at, a->bytes);
    else
        free(a->at);
}

static void grow(struct array *a) {
    size_t bytes = (LEAST + draw(MOST - LEAST)) & ~7ul;
    if (a->mapped)
        a->at = mremap(a->at, a->bytes, bytes, MREMAP_MAYMOVE);
    else
        a->at = realloc(a->at, bytes);
    if (a->at == MAP_FAILED || !a->at) {
        puts("cannot grow");
        exit(1);
    }
    size_t from = a->bytes < bytes ? a->bytes / 8 : bytes / 8;
    a->bytes = bytes;
    for (size_t i = from; i < bytes / 8; i++) a->at[i] = i;
}

static void read_into(struct array *a, int file) {
    size_t bytes = a->bytes < LEAST ? a->bytes : LEAST, from = draw(a->bytes - bytes + 1) & ~7ul;
#pragma omp parallel for
    for (int part = 0; part < 8; part++) {
        char *to = (char *)a->at + from + bytes / 8 * part;
        for (size_t done = 0; done < bytes / 8;) {
            ssize_t n = pread(file, to + done, bytes / 8 - done, bytes / 8 * part + done);
            if (n <= 0) {
                perror("read");
                exit(1);
            }
            done += n;
        }
    }
}

int main(int argc, char **argv) {
    random_state = argc > 1 ? strtoul(argv[1], 0, 10) : 1;
    for (size_t i = 0; i < LEAST / 8; i++) fixed[i] = i * i;
    char name[] = "/tmp/running-XXXXXX";
    int file = mkstemp(name);
    if (file < 0 || write(file, fixed, LEAST) != LEAST) return 1;
    unlink(name);
    struct array all[ARRAYS];
    for (int k = 0; k < ARRAYS; k++) make(&all[k]);
    uint64_t sum = 0;
    for (int step = 0; step < STEPS; step++) {
        struct array *a = &all[draw(ARRAYS)], *b = &all[draw(ARRAYS)];
        size_t n = a->bytes / 8;
        uint64_t with = draw(1 << 20);
        switch (draw(12)) {
        case 0:
        case 1:
        case 2:
#pragma omp parallel for
            for (size_t i = 0; i < n; i++) a->at[i] = a->at[i] * 3 + with;
            break;
        case 3: /* here and there */
#pragma omp parallel for
            for (size_t i = 0; i < n / 4096; i++) a->at[i * 4096 + (with + i * i) % 4096] = i ^ with;
            break;
        case 4: read_into(a, file); break;
        case 5: grow(a); break;
        case 6:
            give_back(a);
            make(a);
            break;
        case 7: /* a part of it is zero again */
            if (a->mapped) {
                size_t pages = a->bytes / 4096, from = draw(pages), many = draw(pages - from + 1);
                madvise((char *)a->at + from * 4096, many * 4096, MADV_DONTNEED);
            }
            break;
        case 8: {
            size_t bytes = a->bytes < b->bytes ? a->bytes : b->bytes;
            memmove(a->at, b->at, bytes);
            break;
        }
        case 9:
#pragma omp parallel for reduction(+ : sum)
            for (size_t i = 0; i < n; i++) sum += a->at[i] ^ i;
            break;
        case 10: { /* a child has memory of its own */
            pid_t child = fork();
            if (child == 0) {
                for (size_t i = 0; i < n; i += 512) a->at[i]++;
                _exit(a->at[0] & 127);
            }
            int status;
            if (child > 0 && waitpid(child, &status, 0) == child) sum += WEXITSTATUS(status);
            break;
        }
        case 11: /* its end is given back, and what is left goes on being used */
            if (a->mapped && a->bytes > 2 * LEAST) {
                size_t left = (LEAST + draw(a->bytes - LEAST)) & ~4095ul;
                munmap((char *)a->at + left, a->bytes - left);
                a->bytes = left;
            }
            break;
        }
#pragma omp parallel for
        for (size_t i = 0; i < LEAST / 8; i++) fixed[i] += with + i;
    }
    for (int k = 0; k < ARRAYS; k++)
        for (size_t i = 0; i < all[k].bytes / 8; i++) sum = sum * 31 + all[k].at[i];
    for (size_t i = 0; i < LEAST / 8; i++) sum = sum * 31 + fixed[i];
    printf("%016lx\n", sum);
    return 0;
}
