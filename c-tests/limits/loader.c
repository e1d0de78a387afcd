/* Loads a library with OpenMP code, calls it from two threads, unloads it, many times. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long (*sum)(int);
static void *call(void *p) { return (void *)sum(1000); }
int main(int argc, char **argv) {
    for (int i = 0; i < 50; i++) {
        void *h = dlopen(argv[1], RTLD_NOW);
        if (!h) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        sum = (long (*)(int))dlsym(h, "sum");
        pthread_t t;
        void *r;
        pthread_create(&t, NULL, call, NULL);
        if (sum(1000) != 499500) abort();
        pthread_join(t, &r);
        if ((long)r != 499500) abort();
        dlclose(h);
    }
    printf("unloaded\n");
    return 0;
}
