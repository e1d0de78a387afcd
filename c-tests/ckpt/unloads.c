/* Has a library loaded until there is a file "go", and is without it until there is a file "end". */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static double a[1000];

static void until(const char *file) {
    while (access(file, F_OK)) {
#pragma omp parallel for schedule(dynamic, 100)
        for (int i = 0; i < 1000; i++) a[i] = i;
    }
}

int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) return printf("%s\n", dlerror()), 1;
    until("go");
    dlclose(library);
    until("end");
    double sum = 0;
    for (int i = 0; i < 1000; i++) sum += a[i];
    printf("%g\n", sum);
}
