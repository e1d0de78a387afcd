/* swaps STEPS FOLDER HOW: a new version is written to a spare file, and both change places in one call
   (RENAME_EXCHANGE): files; folders with a file in them; a file and a folder; by the system call's number;
   no: RENAME_NOREPLACE, which moves back and forth. Each step finds the version of the step before. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *how;

static int get(const char *path) {
    int k = -1;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &k) != 1) k = -2;
    if (f) fclose(f);
    return k;
}

static void put(const char *path, int k) {
    FILE *f = fopen(path, "w");
    if (!f) return;
    fprintf(f, "%d\n", k);
    fclose(f);
}

static int change(const char *a, const char *b, unsigned flags) {
    if (!strcmp(how, "number")) return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, flags);
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, flags);
}

int main(int argc, char **argv) {
    int steps = argc > 3 ? atoi(argv[1]) : 0, folders = argc > 3 && !strcmp(argv[3], "folders");
    if (!steps || (mkdir(argv[2], 0755) && errno != EEXIST) || chdir(argv[2])) return 2;
    how = argv[3];
    double sum = 0;
    mkdir("a", 0755);
    mkdir("b", 0755);
    const char *now = folders ? "a/x" : "now", *spare = folders ? "b/x" : "spare";
    put(now, 0);
    put(spare, -9);
    for (int step = 1; step <= steps; step++) {
        int k = get(now);
        if (k != step - 1) return printf("step %d finds the version of step %d\n", step, k), 1;
        put(spare, step);
        int failed;
        if (!strcmp(how, "no")) {
            failed = change(spare, "third", RENAME_NOREPLACE);
            unlink(now);
            failed |= change("third", now, RENAME_NOREPLACE);
        } else
            failed = change(folders ? "a" : now, folders ? "b" : spare, RENAME_EXCHANGE);
        if (failed) return puts(errno == EINVAL ? "not here" : "it failed"), 77;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
    }
    puts(get(now) == steps && sum > 0 ? "kept" : "another end");
    return 0;
}
