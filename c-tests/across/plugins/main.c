/* Loads the libraries of its arguments one after the other, so that each lies where the last one lay, and has
   each do its work. */
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    static double x[1000];
    double s = 0;
    #pragma omp parallel reduction(+ : s)
    s += 1;
    for (int r = 0; r < 6; r++) {
        void *h = dlopen(argv[1 + r % (argc - 1)], RTLD_NOW);
        if (!h) return puts(dlerror()), 1;
        void (*run)(double *, int, double) = (void (*)(double *, int, double))dlsym(h, "run");
        run(x, 1000, 1.0 / (r + 1));
        dlclose(h);
    }
    for (int i = 0; i < 1000; i++) s += x[i];
    printf("%.6f\n", s);
    return 0;
}
