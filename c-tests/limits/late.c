/* late LIBRARY: an OpenMP runtime is loaded when there are threads already, which then use it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3 };

static pthread_barrier_t barrier;
static void *library;
static int sum;

static int (*number(void))(void) { return (int (*)(void))dlsym(library, "omp_get_thread_num"); }

static void count(void *p) { __atomic_fetch_add((int *)p, 1 + number()(), __ATOMIC_SEQ_CST); }

/* Each begins with another call. */
static void use(long which) {
    static const char *const calls[] = {"GOMP_taskyield", "GOMP_taskwait", "GOMP_critical_start", "GOMP_barrier"};
    ((void (*)(void))dlsym(library, calls[which]))();
    if (which == 2) ((void (*)(void))dlsym(library, "GOMP_critical_end"))();
    if (number()() != 0) printf("thread %d outside of a region\n", number()());
    ((void (*)(void (*)(void *), void *, unsigned, unsigned))dlsym(library, "GOMP_parallel"))(count, &sum, 3, 0);
}

static void *wait_and_use(void *which) {
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    use((long)which);
    return 0;
}

int main(int argc, char **argv) {
    pthread_t t[THREADS];
    pthread_barrier_init(&barrier, 0, THREADS + 1);
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, wait_and_use, (void *)i);
    pthread_barrier_wait(&barrier);
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    if (!library) return printf("%s\n", dlerror()), 1;
    pthread_barrier_wait(&barrier);
    use(THREADS);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
    printf("sum %d\n", sum);
    return 0;
}
