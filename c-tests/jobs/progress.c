/* Tasks that wait for what another thread does meanwhile. Below 64 tasks for each thread no runtime may
   execute them on the one they wait for while another thread of the team is idle. argv: kind, rounds, small
   tasks before. */
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long small, waited;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void smalls(int n) {
    for (int i = 0; i < n; i++)
#pragma omp task
        atomic_fetch_add(&small, 1);
}

/* The creator says "go" right after the construct: by a flag, a condition variable, a semaphore, a pipe. */
static void flag(void) {
    atomic_int go = 0;
#pragma omp task shared(go)
    {
        while (!atomic_load(&go))
            usleep(10);
        atomic_fetch_add(&waited, 1);
    }
    atomic_store(&go, 1);
#pragma omp taskwait
}
static void condition(void) {
    static int go;
    go = 0;
#pragma omp task
    {
        pthread_mutex_lock(&mutex);
        while (!go)
            pthread_cond_wait(&cond, &mutex);
        pthread_mutex_unlock(&mutex);
        atomic_fetch_add(&waited, 1);
    }
    pthread_mutex_lock(&mutex);
    go = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
#pragma omp taskwait
}
static void semaphore(void) {
    sem_t s;
    sem_init(&s, 0, 0);
#pragma omp task shared(s)
    {
        sem_wait(&s);
        atomic_fetch_add(&waited, 1);
    }
    sem_post(&s);
#pragma omp taskwait
}
static void through_a_pipe(void) {
    int p[2];
    char c = 'x';
    if (pipe(p))
        exit(3);
#pragma omp task shared(p)
    {
        char d;
        if (read(p[0], &d, 1) == 1)
            atomic_fetch_add(&waited, 1);
    }
    if (write(p[1], &c, 1) != 1)
        exit(3);
#pragma omp taskwait
    close(p[0]);
    close(p[1]);
}
/* A sibling that is made later says "go". */
static void sibling(void) {
    atomic_int go = 0;
#pragma omp task shared(go)
    {
        while (!atomic_load(&go))
            ;
        atomic_fetch_add(&waited, 1);
    }
#pragma omp task shared(go)
    atomic_store(&go, 1);
#pragma omp taskwait
}
/* Inside of a task of a task. */
static void nested(void) {
#pragma omp task
    flag();
#pragma omp taskwait
}

enum { AT_ONCE = 4 };
/* Returns when so many are here; the last one to come counts. */
static void meet(atomic_int *here) {
    if (atomic_fetch_add(here, 1) + 1 == AT_ONCE)
        atomic_fetch_add(&waited, 1);
    while (atomic_load(here) < AT_ONCE)
        usleep(10);
}
/* Tasks that wait for each other, while their creator does; the other threads have gone to sleep before. */
static void together(void) {
    atomic_int here = 0;
    usleep(1000);
    for (int i = 0; i < AT_ONCE; i++)
#pragma omp task shared(here)
        meet(&here);
    while (atomic_load(&here) < AT_ONCE)
        usleep(10);
#pragma omp taskwait
}
/* The pieces of a taskloop that wait for each other. */
static void pieces(void) {
    atomic_int here = 0;
    usleep(1000);
#pragma omp taskloop num_tasks(AT_ONCE) shared(here)
    for (int i = 0; i < AT_ONCE; i++)
        meet(&here);
}
/* Behind short ones, and the last one is said "go" by the first. */
static void last_piece(void) {
    atomic_int go = 0;
#pragma omp taskloop grainsize(1) shared(go)
    for (int i = 0; i < 50; i++) {
        while (i == 49 && !atomic_load(&go))
            ;
        if (i == 0) {
            usleep(100);
            atomic_store(&go, 1);
        }
    }
    atomic_fetch_add(&waited, 1);
}
/* One waits for what the creator does behind the construct. */
static void nogroup(void) {
    atomic_int go = 0;
#pragma omp taskloop grainsize(1) shared(go) nogroup
    for (int i = 0; i < 50; i++)
        while (i % 49 == 0 && !atomic_load(&go))
            usleep(10);
    atomic_store(&go, 1);
#pragma omp taskwait
    atomic_fetch_add(&waited, 1);
}
/* The same, where the end of one task makes them ready. */
static void released(void) {
    atomic_int here = 0;
    int x;
#pragma omp task depend(out : x)
    usleep(1000);
    for (int i = 0; i < AT_ONCE; i++)
#pragma omp task depend(in : x) shared(here)
        meet(&here);
    while (atomic_load(&here) < AT_ONCE)
        usleep(10);
#pragma omp taskwait
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*f)(void); int threads; } kinds[] = {
        {"flag", flag, 2}, {"condition", condition, 2}, {"semaphore", semaphore, 2},
        {"pipe", through_a_pipe, 2}, {"sibling", sibling, 2}, {"nested", nested, 2},
        {"together", together, AT_ONCE + 2}, {"released", released, AT_ONCE + 2},
        {"pieces", pieces, AT_ONCE}, {"last piece", last_piece, 2}, {"nogroup", nogroup, 3},
    };
    int rounds = atoi(argv[2]), before = atoi(argv[3]);
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(argv[1], kinds[k].name))
            continue;
        for (int r = 0; r < rounds; r++) {
#pragma omp parallel num_threads(kinds[k].threads)
#pragma omp single
            {
                smalls(before);
                kinds[k].f();
            }
        }
    }
    printf("small %ld waited %ld\n", (long)small, (long)waited);
    return 0;
}
