/* In each step: symbolic links of the last one are there and lead where they did; they are renamed, replaced,
   removed and made anew. argv[1]: a folder of its own; argv[2]: steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { KINDS = 5 };
static const char *names[KINDS] = {"to a file", "to nothing", "up", "long", "inside/one"};
static void text(int kind, int step, char *to, size_t room) {
    const char *ways[KINDS] = {"file", "/no/such/place", "../..", "", "../file"};
    int n = snprintf(to, room, "%s/%d", ways[kind], step);
    if (kind == 3)
        memset(to + n, 'x', 3000), to[n + 3000] = 0;
}
static void fails(int step, int kind, const char *what) {
    fprintf(stderr, "step %d: %s: %s\n", step, names[kind], what);
    exit(9);
}
static void make(int kind, int step) {
    char to[4096];
    text(kind, step, to, sizeof to);
    if (symlink(to, names[kind]))
        fails(step, kind, "not made");
}
static void check(int kind, int step) {
    char to[4096], found[4096] = "";
    text(kind, step, to, sizeof to);
    if (readlink(names[kind], found, sizeof found - 1) < 0 || strcmp(found, to))
        fails(step, kind, found);
}
int main(int argc, char **argv) {
    if (chdir(argv[1]))
        return 8;
    for (int kind = 0; kind < KINDS; kind++)
        make(kind, 0);
    unsigned long sum = 0;
    for (int step = 0; step < atoi(argv[2]); step++) {
        for (int kind = 0; kind < KINDS; kind++)
            check(kind, step);
        unlink(names[0]);
        if (rename(names[1], "another") || rename("another", names[0]) || unlink(names[0]))
            fails(step, 1, "not renamed");
        if (rename(names[3], names[2]) || unlink(names[2]) || unlink(names[4]))
            fails(step, 2, "not replaced");
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            sum += i ^ step;
        usleep(3000);
        for (int kind = 0; kind < KINDS; kind++)
            make(kind, step + 1);
    }
    printf("%lu\n", sum);
    return 0;
}
