/* Teams of all shapes, for the monitor to survive: nested ones, changing sizes, tasks in barriers, threads
   of the program's own, forks, and code that is loaded and unloaded. The first argument says which, the
   second how often. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long total;

static void add(long n) {
#pragma omp atomic
    total += n;
}

static void nested(int n) {
    omp_set_max_active_levels(2);
    for (int i = 0; i < n; i++)
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        {
            add(1);
#pragma omp barrier
            add(1);
        }
#pragma omp barrier
    }
}

static void sizes(int n) {
    for (int i = 0; i < n; i++)
#pragma omp parallel num_threads(1 + i % 5)
        add(1);
}

static void tasks(int n) {
#pragma omp parallel num_threads(3)
    for (int i = 0; i < n; i++) {
#pragma omp single
        {
            for (int k = 0; k < 20; k++)
#pragma omp task
                add(1);
#pragma omp taskwait
#pragma omp taskloop grainsize(1)
            for (int k = 0; k < 10; k++) add(1);
        }
    }
}

static void *own(void *arg) {
    for (int i = 0; i < 3; i++)
#pragma omp parallel num_threads(2)
        add(1);
    return arg;
}

static void threads(int n) {
    for (int i = 0; i < n; i++) {
        pthread_t t[3];
        for (int k = 0; k < 3; k++) pthread_create(&t[k], 0, own, 0);
        for (int k = 0; k < 3; k++) pthread_join(t[k], 0);
    }
}

/* Memory that the process has, in KiB. */
static long resident(void) {
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void forks(int n) {
#pragma omp parallel num_threads(2)
    add(1);
    for (int i = 0; i < n; i++) {
        pid_t p = fork();
        if (p == 0) {
#pragma omp parallel num_threads(2)
            add(1);
            _exit(total == 4 ? 0 : 1);
        }
        int status = 0;
        waitpid(p, &status, 0);
        if (status) {
            printf("child %d: %d\n", i, status);
            exit(1);
        }
    }
}

static void regions(int n) {
    long before = 0;
    for (int i = 0; i < n; i++) {
        if (i == n / 10) before = resident();
#pragma omp parallel num_threads(2)
        add(1);
    }
    printf("grown: %s\n", resident() - before < 1024 ? "no" : "yes");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(int);
    } all[] = {{"nested", nested}, {"sizes", sizes},   {"tasks", tasks},
               {"threads", threads}, {"forks", forks}, {"regions", regions}};
    int n = argc > 2 ? atoi(argv[2]) : 10;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run(n);
    printf("total %ld\n", total);
    return 0;
}
