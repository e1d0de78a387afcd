/* A garbage collector that stops the world by signals (Debian's libgc) under a team: each chunk builds lists
   and trees whose only references are on its thread's stack, and collections strike all the time. What is
   lost to a collection too early is written over by what is allocated next, and the sums are wrong.
   Arguments: rounds; "all" has the program's own thread collect meanwhile. */
#define GC_THREADS
#include <gc.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 96

struct node { struct node *left, *right; long value; };

static volatile int over;

static struct node *tree(int depth, long value) {
    struct node *n = GC_MALLOC(sizeof *n);
    n->value = value;
    if (depth > 0) n->left = tree(depth - 1, 2 * value), n->right = tree(depth - 1, 2 * value + 1);
    return n;
}

static long sum(const struct node *n) { return n ? n->value + sum(n->left) + sum(n->right) : 0; }

static long chunk(int i) {
    struct node *kept = tree(6, i + 1);
    long s = 0;
    for (int k = 0; k < 6; k++) {
        struct node *list = NULL;
        for (int j = 0; j < 60; j++) {
            struct node *n = GC_MALLOC(sizeof *n);
            n->left = list, n->value = j;
            list = n;
        }
        for (struct node *n = list; n; n = n->left) s += n->value;
    }
    return s + sum(kept);
}

static void *collects(void *unused) {
    while (!over) GC_gcollect();
    return NULL;
}

static void registered(void) {
    struct GC_stack_base base;
    GC_get_stack_base(&base);
    GC_register_my_thread(&base);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20, all = argc > 2;
    GC_INIT();
    GC_allow_register_threads();
    GC_set_max_heap_size(1 << 28);
    #pragma omp parallel
    if (omp_get_thread_num() > 0) registered();
    pthread_t t;
    if (all) pthread_create(&t, NULL, collects, NULL);
    static long v[N];
    long total = 0;
    for (int r = 0; r < rounds; r++) {
        #pragma omp parallel for schedule(dynamic, 2)
        for (int i = 0; i < N; i++) v[i] = chunk(i + r);
        for (int i = 0; i < N; i++) total += v[i];
        if (r % 4 == 0) GC_gcollect();
    }
    over = 1;
    if (all) pthread_join(t, NULL);
    printf("total %ld, collections %s\n", total, GC_get_gc_no() > (GC_word)rounds / 4 ? "enough" : "too few");
    return 0;
}
