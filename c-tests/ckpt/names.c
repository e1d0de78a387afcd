/* A program that makes, appends to, rewrites, renames, links and removes files, and reads them: never open for long. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t state;
static unsigned below(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}
static uint64_t seen = 14695981039346656037u;
static void see(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) seen = (seen ^ ((const unsigned char *)p)[i]) * 1099511628211u;
}
/* What a call has returned belongs to what the program sees. */
static int did(int r) {
    int word[2] = {r < 0, r < 0 ? errno : 0};
    see(word, sizeof word);
    return r;
}
static const char *any(void) {
    static char names[4][64];
    static int next;
    char *n = names[next++ % 4];
    snprintf(n, 64, "%sf%u", below(4) ? "" : "sub/", below(8));
    return n;
}
static void look(const char *name) {
    char bytes[4096];
    int fd = did(open(name, O_RDONLY));
    ssize_t n;
    while (fd >= 0 && (n = read(fd, bytes, sizeof bytes)) > 0) see(bytes, n);
    if (fd >= 0) close(fd);
}

int main(int argc, char **argv) {
    int steps = atoi(argv[2]);
    state = argc > 3 ? strtoul(argv[3], 0, 0) : 1;
    static double a[1000];
    if (chdir(argv[1])) return 1;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++) a[i] = a[i] * 0.5 + i % 7 + step;
        double until = omp_get_wtime() + 0.001;
#pragma omp parallel
        while (omp_get_wtime() < until) {}
        FILE *log = fopen("log", "a");
        if (!log) return 2;
        fprintf(log, "%d %llx\n", step, (unsigned long long)seen);
        fclose(log);
        const char *x = any(), *y = any();
        FILE *f;
        int fd;
        switch (below(15)) {
        case 0: /* a new version in the old one's place */
            if ((f = fopen("new", "w"))) {
                fprintf(f, "version %d %f\n", step, a[below(1000)]);
                fclose(f);
                did(rename("new", x));
            }
            break;
        case 1:
            if ((fd = did(open(x, O_WRONLY | O_CREAT | O_EXCL, 0640))) >= 0) {
                dprintf(fd, "made in step %d\n", step);
                close(fd);
            }
            break;
        case 2: did(unlink(x)); break;
        case 3: /* read, change, write */
            if ((fd = did(open(x, O_RDWR))) >= 0) {
                char c = 0;
                off_t at = below(20);
                if (pread(fd, &c, 1, at) == 1) c += 1, did(pwrite(fd, &c, 1, at));
                close(fd);
            }
            break;
        case 4: did(rename(x, y)); break;
        case 5: did(mkdir("sub", 0755)); break;
        case 6: did(rmdir("sub")); break;
        case 7: did(truncate(x, below(30))); break;
        case 8: did(link(x, y)); break;
        case 9: did(symlink("f1", x)); break;
        case 10: /* many pages */
            if ((f = fopen(x, below(2) ? "w" : "r+"))) {
                for (int i = 0; i < 3000; i++) fprintf(f, "%d %f\n", i + step, a[i % 1000]);
                fclose(f);
            }
            break;
        case 11: did(remove(x)); break;
        case 12: /* a file that stays open for a while */
            if ((f = fopen(x, "a+"))) {
                fprintf(f, "%d\n", step);
                fflush(f);
#pragma omp parallel
                while (omp_get_wtime() < until + 0.003) {}
                fprintf(f, "%d\n", -step);
                fclose(f);
            }
            break;
        case 13: {
            char name[] = "temporaryXXXXXX";
            if ((fd = mkstemp(name)) >= 0) {
                dprintf(fd, "%d\n", step);
                close(fd);
                look(name);
                unlink(name);
            }
            break;
        }
        default: look(x); look(y);
        }
    }
    printf("%llx %f\n", (unsigned long long)seen, a[7]);
    return 0;
}
