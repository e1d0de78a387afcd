/* Two libraries with a kernel each; the second is loaded where the first one was: closed FIRST SECOND.
   Each is this file, built with -DLIBRARY=NAME. */
#ifdef LIBRARY
void LIBRARY(double *x, int n)
{
#pragma omp target map(tofrom : x[:n])
    for (int i = 0; i < n; i++) x[i] = 2 * x[i] + 1;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *call(const char *path, double *x, int n)
{
    const char *name = strrchr(path, '/') + 1;
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%.*s", (int)strcspn(name, "."), name);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return puts(dlerror()), NULL;
    void *at = dlsym(library, symbol);
    ((void (*)(double *, int))at)(x, n);
    dlclose(library);
    return at;
}

int main(int argc, char **argv)
{
    double x[100] = {0};
    void *first = call(argv[1], x, 100), *second = call(argv[2], x, 100);
    printf("%g, %s\n", x[99], first && first == second ? "at the same place" : "elsewhere");
}
#endif
