/* What calls that change files by name take, with and without checkpoints: microseconds, medians of COUNT calls.
 *     opens FOLDER COUNT */
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double *took;
static double began;

static void begins(void) { began = omp_get_wtime(); }

static void ends(int i) { took[i] = (omp_get_wtime() - began) * 1e6; }

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(const char *what, int count) {
    qsort(took, count, sizeof *took, ascending);
    printf("%s %.1f\n", what, took[count / 2]);
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1])) return fprintf(stderr, "usage: opens FOLDER COUNT\n"), 2;
    int count = atoi(argv[2]);
    took = malloc(count * sizeof *took);
    double sum = 0; /* a region of the runtime's: checkpoints begin with the first */
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000000; i++) sum += 1.0 / (i + 1);
    fclose(fopen("log", "w"));
    char name[32];
    for (int i = 0; i < count; i++) {
        begins();
        FILE *file = fopen("log", "a");
        ends(i);
        fclose(file);
    }
    say("fopen for appending", count);
    for (int i = 0; i < count; i++) {
        begins();
        int file = open("log", O_RDONLY);
        ends(i);
        close(file);
    }
    say("open for reading", count);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "new-%d", i);
        begins();
        FILE *file = fopen(name, "w");
        ends(i);
        fclose(file);
    }
    say("fopen of a new file", count);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "new-%d", i);
        begins();
        if (unlink(name)) return perror(name), 1;
        ends(i);
    }
    say("unlink", count);
    return !(sum > 14);
}
