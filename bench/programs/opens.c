/* What calls that change files by name take, with and without checkpoints: microseconds, medians of COUNT calls.
 *     opens FOLDER COUNT */
#include "../median.h"
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static FILE *stream;
static int file;
static char name[32];

static void append(void) { stream = fopen("log", "a"); }
static void look(void) { file = open("log", O_RDONLY); }
static void make(void) { stream = fopen(name, "w"); }
static void drop(void) { unlink(name); }
static void close_stream(void) { fclose(stream); }
static void close_file(void) { close(file); }
static void nothing(void) {}

/* Times `call`, not what follows it. */
static void measure(const char *what, int count, void (*call)(void), void (*afterwards)(void)) {
    double *took = malloc(count * sizeof *took);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "new-%d", i);
        double began = omp_get_wtime();
        call();
        took[i] = (omp_get_wtime() - began) * 1e6;
        afterwards();
    }
    printf("%s %.1f\n", what, sorted(took, count)[count / 2]);
    free(took);
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[1])) return fprintf(stderr, "usage: opens FOLDER COUNT\n"), 2;
    int count = atoi(argv[2]);
    double sum = 0; /* a region of the runtime's: checkpoints begin with the first */
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000000; i++) sum += 1.0 / (i + 1);
    fclose(fopen("log", "w"));
    measure("fopen for appending", count, append, close_stream);
    measure("open for reading", count, look, close_file);
    measure("fopen of a new file", count, make, close_stream);
    measure("unlink", count, drop, nothing);
    return !(sum > 14);
}
