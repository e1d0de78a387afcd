/* A process of a tree of processes (tests/random_trees.rs): the interpreter of a script of one line, behind
   that with its name: id, status, how, children. How, a letter each: r, a region first; t, one at the end;
   f, a copy with a region of its own; b, children side by side; e, the last one in its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int id;

/* Lines are written at once: those of others may come in between. */
static void line(const char *what, unsigned long n) {
    char text[80];
    int length = snprintf(text, sizeof text, "%d %s %lu\n", id, what, n);
    if (write(1, text, length) != length)
        _exit(99);
}

static void region(const char *what) {
    unsigned long s = 0;
    for (int k = 0; k < 40; k++) {
#pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < 20000; i++)
            s += (unsigned)(i + id) * 2654435761u >> 7;
    }
    line(what, s);
}

static int ended(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 90;
}

int main(int argc, char **argv) {
    char text[1000] = "", *how, *child, *children[20];
    FILE *f = fopen(argv[1], "r");
    if (!f || !fgets(text, sizeof text, f) || !fgets(text, sizeof text, f))
        return 98;
    fclose(f);
    id = atoi(strtok(text, " \n"));
    int status = atoi(strtok(NULL, " \n")), n = 0;
    how = strtok(NULL, " \n");
    while ((child = strtok(NULL, " \n")))
        children[n++] = child;
    line("begins", argc);
    pid_t all[20], copy = 0;
    /* A child that uses OpenMP after its parent has hangs under libgomp: this comes first. */
    if (strchr(how, 'f')) {
        copy = fork();
        if (!copy) {
            region("copy");
            _exit(1);
        }
        status += ended(copy);
    }
    if (strchr(how, 'r'))
        region("first");
    int in_place = n && strchr(how, 'e');
    for (int i = 0; i < n - in_place; i++) {
        all[i] = fork();
        if (!all[i]) {
            execl(children[i], children[i], (char *)NULL);
            _exit(97);
        }
        if (!strchr(how, 'b'))
            status += ended(all[i]);
    }
    for (int i = 0; i < n - in_place && strchr(how, 'b'); i++)
        status += ended(all[i]);
    if (strchr(how, 't'))
        region("last");
    line("ends", status % 100);
    if (in_place)
        execl(children[n - 1], children[n - 1], (char *)NULL);
    return status % 100;
}
