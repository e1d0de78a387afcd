/* Becomes itself again and again, by several of the calls that do so, while checkpoints are taken: argv[1]
   times. Some calls fail first. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    int left = argc > 1 ? atoi(argv[1]) : 0, n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 100000; i++)
        n += i % 7 == left % 7;
    if (!left) {
        printf("done %d\n", n);
        return 0;
    }
    char text[20], *all[] = {argv[0], text, NULL};
    snprintf(text, sizeof text, "%d", left - 1);
    execl("/no/such/program", "program", text, (char *)NULL);
    switch (left % 3) {
    case 0: execv(argv[0], all); break;
    case 1: execve(argv[0], all, environ); break;
    default: execl(argv[0], argv[0], text, (char *)NULL);
    }
    return 9;
}
