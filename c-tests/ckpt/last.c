/* A library that writes what it has kept when it is left, as Fortran's does, and the program that uses it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void keep(const char *text);

#ifdef LIBRARY
static char kept[100];

void keep(const char *text) {
    strncpy(kept, text, sizeof kept - 1);
}

__attribute__((destructor)) static void leave(void) {
    for (int i = 0; i < 50; i++) usleep(20000); /* time to be killed */
    if (write(1, kept, strlen(kept)) < 0) _exit(1);
}
#else
int main(void) {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100000000; i++) sum += i ^ (sum & 3);
    (void)sum;
    keep("last words\n");
    puts("the program ends");
    fflush(stdout);
    return 0;
}
#endif
