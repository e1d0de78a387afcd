/* Starts a copy of itself, which uses OpenMP too; shows its arguments and part of its environment byte for byte at the end. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;

static void hex(const char *what, const char *s) {
    printf("%s ", what);
    for (; *s; s++) printf("%02x", (unsigned char)*s);
    printf("\n");
}

static long count(void) {
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 100000; i++) n += i % 7;
    return n;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) return count() == 299997 ? 7 : 1;
    int ok = 0, made = 0;
    for (int i = 0; i < 10; i++) {
        long n = count();
        double until = omp_get_wtime() + 0.02;
        while (omp_get_wtime() < until) {}
        if (i % 3 == 0) {
            pid_t child = fork();
            if (child == 0) {
                execl(argv[0], argv[0], "child", (char *)0);
                _exit(2);
            }
            int status = 0;
            made++;
            ok += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7 && n == 299997;
        }
    }
    printf("children %d of %d\n", ok, made);
    for (int i = 1; i < argc; i++) hex("argument", argv[i]);
    for (char **e = environ; *e; e++)
        if (!strncmp(*e, "FAMILY", 6)) hex("environment", *e);
    return 0;
}
