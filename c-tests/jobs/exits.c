/* Several threads end the program at once, each with a status of its own, after a region and a line of
   output that is still in a buffer. argv[1]: how many threads beside the first. argv[2], a list of words:
   "main": the first thread returns from main, too; "at": a function of atexit takes its time; "last": so
   does a destructor; "later": one after the other; "_exit": by _exit; "region": the threads are those of a
   region. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t all;
static const char *how;
static int is(const char *word) { return strstr(how, word) != NULL; }
static void slow(void) { usleep(20000); }
__attribute__((destructor)) static void last(void) {
    if (is("last"))
        usleep(20000);
}
static void ends(int status) {
    if (is("later"))
        usleep(200 * status);
    if (is("_exit"))
        _exit(status);
    exit(status);
}
static void *thread(void *status) {
    pthread_barrier_wait(&all);
    ends((int)(long)status);
    return NULL;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]), sum = 0;
    how = argc > 2 ? argv[2] : "";
#pragma omp parallel reduction(+ : sum)
    sum++;
    if (is("at"))
        atexit(slow);
    printf("ends %d\n", sum > 0);
    if (is("_exit"))
        fflush(stdout);
    if (is("region"))
#pragma omp parallel num_threads(n)
        ends(40 + n);
    pthread_barrier_init(&all, NULL, n + 1);
    for (int i = 1; i <= n; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, thread, (void *)(long)i))
            abort();
    }
    pthread_barrier_wait(&all);
    if (is("main"))
        return 30;
    for (;;)
        pause();
}
