/* shared.c [STEPS]: shared memory of every kind that is this process' own, or a file's: anonymous, of
   memfd_create, of temporary files, of files with names, with their descriptors open or closed, grown and
   replaced while it runs, mapped twice, protected; and children that write to it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, LEAST = 2 * PAGE, MOST = 16 * PAGE };

struct memory {
    const char *what;
    int fd;         /* -1: closed */
    size_t bytes;
    long *at;       /* written to */
    const long *as; /* the same, only read: where it is mapped twice */
    char name[96];  /* of files that have one */
};

static void failed(const char *what) {
    perror(what);
    exit(3);
}
static void wrong(int step, const char *what, const char *how) {
    printf("step %d: %s: %s\n", step, what, how);
    exit(3);
}
static void *map(int fd, size_t bytes, int prot) {
    int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
    void *p = mmap(NULL, bytes, prot, flags, fd, 0);
    if (p == MAP_FAILED) failed("mmap");
    return p;
}
static int is(const struct memory *m, const char *word) { return strstr(m->what, word) != NULL; }

static void make(struct memory *m, size_t bytes) {
    m->bytes = bytes;
    m->fd = -1;
    m->as = NULL;
    if (is(m, "memfd")) m->fd = memfd_create("values", is(m, "open") ? MFD_ALLOW_SEALING : 0);
    if (is(m, "file")) {
        const char *folder = getenv("TMPDIR");
        if (is(m, "shm")) folder = "/dev/shm";
        snprintf(m->name, sizeof m->name, "%s/promp-shared-XXXXXX", folder ? folder : "/tmp");
        m->fd = mkstemp(m->name);
        if (m->fd >= 0 && !is(m, "named") && unlink(m->name)) failed(m->name);
    }
    if (!is(m, "anonymous") && (m->fd < 0 || ftruncate(m->fd, bytes))) failed(m->what);
    m->at = map(m->fd, bytes, PROT_READ | PROT_WRITE);
    if (is(m, "twice")) m->as = map(m->fd, bytes, PROT_READ);
    if (is(m, "closed") || is(m, "read")) {
        close(m->fd);
        m->fd = is(m, "read") ? open(m->name, O_RDONLY) : -1;
    }
}
static void end(struct memory *m) {
    munmap(m->at, m->bytes);
    if (m->as) munmap((void *) m->as, m->bytes);
    if (m->fd >= 0) close(m->fd);
    if (is(m, "named")) unlink(m->name);
}
/* Another one of other size takes its place, with what it holds. */
static void replace(struct memory *m, size_t bytes) {
    struct memory old = *m;
    make(m, bytes);
    memcpy(m->at, old.at, old.bytes < bytes ? old.bytes : bytes);
    end(&old);
}
static void grow(struct memory *m) {
    size_t bytes = m->bytes + PAGE;
    if (m->fd < 0 || m->as || is(m, "read") || bytes > MOST) return;
    if (ftruncate(m->fd, bytes)) failed("ftruncate");
    m->at = mremap(m->at, m->bytes, bytes, MREMAP_MAYMOVE);
    if (m->at == MAP_FAILED) failed("mremap");
    m->bytes = bytes;
}
static double sum(const struct memory *m) {
    double sum = 0;
    for (size_t i = 0; i < m->bytes / sizeof(long); i++) sum += m->at[i] * (double) (i % 11 + 1);
    return sum;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 150;
    struct memory all[] = {
        {"anonymous"}, {"memfd, open"}, {"memfd, closed, twice"}, {"file, open"}, {"named file, open, twice"},
        {"named file, closed"}, {"named file, read"}, {"shm file, open"}, {"shm file, closed"},
        {"anonymous, protected"},
    };
    const int kinds = sizeof all / sizeof *all;
    for (int k = 0; k < kinds; k++) make(&all[k], LEAST + k % 3 * PAGE);
    for (int step = 0; step < steps; step++) {
        for (int k = 0; k < kinds; k++)
            if (is(&all[k], "protected")) mprotect(all[k].at, all[k].bytes, PROT_READ | PROT_WRITE);
        double until = omp_get_wtime() + 0.002;
#pragma omp parallel
        {
            while (omp_get_wtime() < until) {}
            for (int k = 0; k < kinds; k++) {
                long n = all[k].bytes / sizeof(long);
#pragma omp for
                for (long i = 0; i < n; i++) all[k].at[i] = 3 * all[k].at[i] % 1000003 + step + i;
            }
        }
        for (int k = 0; k < kinds; k++) {
            struct memory *m = &all[k];
            if (is(m, "protected")) mprotect(m->at, m->bytes, PROT_READ);
            if (m->as && memcmp(m->as, m->at, m->bytes)) wrong(step, m->what, "two contents");
            if ((step + k) % 12 == 11) replace(m, LEAST + (step + k) % 5 * PAGE);
            if ((step + k) % 9 == 8) grow(m);
            if (m->fd >= 0) { /* the file's other way */
                long first = 0;
                if (pread(m->fd, &first, sizeof first, 0) != sizeof first) failed("pread");
                if (first != m->at[0]) wrong(step, m->what, "another content of the file");
                first++;
                if (is(m, "read")) continue;
                if (pwrite(m->fd, &first, sizeof first, 0) != sizeof first) failed("pwrite");
            }
        }
        if (step % 40 == 39) {
            pid_t child = fork();
            if (!child) {
                for (int k = 0; k < kinds; k++)
                    if (!is(&all[k], "protected")) all[k].at[1] += k;
                _exit(0);
            }
            int status = -1;
            if (waitpid(child, &status, 0) != child || status) wrong(step, "the child", "failed");
        }
    }
    for (int k = 0; k < kinds; k++) {
        struct memory *m = &all[k];
        double of_file = 0;
        if (is(m, "named")) {
            FILE *f = fopen(m->name, "r");
            long word = 0;
            for (size_t i = 0; f && fread(&word, sizeof word, 1, f) == 1; i++)
                of_file += word * (double) (i % 11 + 1);
            if (f) fclose(f);
        }
        printf("%s: %zu bytes, %.0f %.0f\n", m->what, m->bytes, sum(m), of_file);
        end(m);
    }
    return 0;
}
