/* Loads and unloads a library between regions: most of the time the dynamic loader's locks, which note who holds them, are held. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define N 20000

static double a[N];

int main(int argc, char **argv) {
    int rounds = 40 + (argc > 1 ? atoi(argv[1]) % 32 : 0);
    long loaded = 0;
    for (int r = 0; r < rounds; r++) {
        #pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < N; i++) a[i] = a[i] * 0.5 + i % (r + 2);
        for (int k = 0; k < 40; k++) {
            void *library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
            if (library) {
                loaded += dlsym(library, "getaddrinfo_a") != NULL;
                dlclose(library);
            }
        }
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i] * (i % 13);
    printf("%.6f %ld\n", sum, loaded);
    return loaded == 0;
}
