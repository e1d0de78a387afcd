/* lists STEPS FOLDER: works through a folder of STEPS files with two open directories, an entry a step, and
   goes back to where it was (seekdir) in each. Every entry comes once in each. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 10000 };
static unsigned char seen[2][MOST];

/* The next file's number; -1: there is none. Read twice, from the same place. */
static int next(DIR *d) {
    for (;;) {
        long at = telldir(d);
        struct dirent *e = readdir(d);
        if (!e) return -1;
        int first = e->d_name[0] == '.' ? -2 : atoi(strrchr(e->d_name, '-') + 1);
        seekdir(d, at);
        e = readdir(d);
        int again = !e ? -3 : e->d_name[0] == '.' ? -2 : atoi(strrchr(e->d_name, '-') + 1);
        if (first != again) {
            printf("%d, and %d at the same place\n", first, again);
            exit(1);
        }
        if (first >= 0) return first;
    }
}

int main(int argc, char **argv) {
    int files = argc > 2 ? atoi(argv[1]) : 0;
    char name[80];
    double sum = 0;
    if (!files || files > MOST || (mkdir(argv[2], 0755) && errno != EEXIST) || chdir(argv[2])) return 2;
    for (int i = 0; i < files; i++) {
        snprintf(name, sizeof name, "a-record-with-a-rather-long-name-%06d", i);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    DIR *d[2] = {opendir("."), opendir(".")};
    for (int step = 0; step < files; step++) {
        for (int i = 0; i < 2; i++) {
            int k = i || step % 2 ? next(d[i]) : -1;
            if (k >= 0 && seen[i][k]++) return printf("%d twice in step %d\n", k, step), 1;
        }
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
    }
    for (int k; (k = next(d[0])) >= 0;) seen[0][k]++;
    for (int i = 0; i < 2 * files; i++)
        if (seen[i % 2][i / 2] != 1) return printf("%d: %d times\n", i / 2, seen[i % 2][i / 2]), 1;
    puts(next(d[1]) < 0 && sum > 0 ? "kept" : "another end");
    return 0;
}
