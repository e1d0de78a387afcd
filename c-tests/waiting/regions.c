/* regions.c SHAPE N TIMES [DIES]: regions so short that save points take longer than their loops. Diagonals
   updated in place; static loops of all kinds of bounds; dynamic loops, sections and tasks; several loops in
   a region, with barriers, reductions and a function's; regions in regions; short ones and long ones in turn;
   taskloops, of short tasks, in each other, without a group. Thread 1 ends itself in diagonal DIES. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

static long number, dies = -1;

static void plane(double *a, int n, int d) {
    int from = d > n - 1 ? d - n + 1 : 1, to = d < n ? d : n, last = ++number == dies;
#pragma omp parallel for
    for (int i = from; i < to; i++) {
        double *p = a + (long) i * n + (d - i);
        *p = 0.3 * *p + 0.3 * p[-n] + 0.3 * p[-1];
        if (last && omp_get_thread_num() == 1) syscall(SYS_exit, 0);
    }
}
static void diagonals(double *a, int n) {
    for (int d = 2; d < 2 * n - 1; d++) plane(a, n, d);
}
static void bounds(double *a, int n) {
    unsigned long most = n;
    for (int r = 1; r < n; r++) {
        double *p = a + (long) r * n;
        int last = 0;
#pragma omp parallel for lastprivate(last)
        for (int i = n - 1; i > 0; i -= 3) p[i] = 0.9 * p[i] + r, last = i;
#pragma omp parallel for schedule(static)
        for (unsigned long i = r % 7; i < most; i += 2) p[i] = 0.9 * p[i] + last;
#pragma omp parallel for schedule(static, 5)
        for (int i = 0; i < n; i++) p[i] = 0.8 * p[i] + i;
#pragma omp parallel for collapse(2)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < n / 3; j++) p[i * (n / 3) + j] += i * j * 1e-3;
#pragma omp parallel for
        for (int i = n; i < r; i++) p[i] += 1; /* none */
    }
}
static void kinds(double *a, int n) {
    for (int r = 1; r < n; r++) {
        double *p = a + (long) r * n;
#pragma omp parallel for schedule(dynamic, 7)
        for (int i = 0; i < n; i++) p[i] = 0.5 * p[i] + i;
#pragma omp parallel sections
        {
#pragma omp section
            for (int i = 0; i < n / 2; i++) p[i] = 0.5 * p[i] + 1;
#pragma omp section
            for (int i = n / 2; i < n; i++) p[i] = 0.5 * p[i] + 2;
        }
#pragma omp parallel
#pragma omp single
        for (int k = 0; k < 4; k++)
#pragma omp task firstprivate(k)
            for (int i = k; i < n; i += 4) p[i] = 0.25 * p[i] + k;
#pragma omp parallel for schedule(guided)
        for (int i = 0; i < n; i++) p[i] = 0.5 * p[i] + i;
    }
}
__attribute__((noinline)) static void orphan(double *p, int n) {
#pragma omp for
    for (int i = 0; i < n; i++) p[i] = 0.7 * p[i] + 0.1;
}
static void several(double *a, int n) {
    for (int r = 1; r < n; r++) {
        double *p = a + (long) r * n, s = 0;
        long c = 0;
#pragma omp parallel reduction(+ : c)
        {
#pragma omp for
            for (int i = 0; i < n; i++) p[i] = 0.5 * p[i] + i, c += i;
            orphan(p, n);
#pragma omp for schedule(dynamic, 9) nowait
            for (int i = 0; i < n / 2; i++) p[i] += 1, c++;
#pragma omp for
            for (int i = n / 2; i < n; i++) p[i] = 0.5 * p[i] + 1;
#pragma omp single
            s = p[n - 1];
#pragma omp for schedule(static, 4)
            for (int i = 0; i < n; i++) p[i] += 1e-3 * s;
#pragma omp master
            s = 0;
        }
        orphan(p, n);
        p[0] += c;
    }
}
static void nested(double *a, int n) {
    for (int r = 2; r < n; r += 2) {
        double *p = a + (long) r * n;
#pragma omp parallel for num_threads(2)
        for (int h = 0; h < 2; h++)
#pragma omp parallel for num_threads(2)
            for (int i = h; i < n; i += 2) p[i] = 0.5 * p[i] + p[i - n];
    }
}
static void turns(double *a, int n) {
    for (int r = 1; r < n; r++) {
        plane(a, n, r + 1);
        if (r % 8) continue;
#pragma omp parallel for
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++) a[(long) i * n + j] = 0.9 * a[(long) i * n + j] + a[(i ^ 1) % 2];
    }
}
static void lines(double *a, int n) {
#pragma omp parallel
#pragma omp single
    for (int h = 0; h < 6; h++) {
#pragma omp taskloop grainsize(1)
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j += 4) a[(long) i * n + j] = 0.9 * a[(long) i * n + j] + h;
#pragma omp taskloop num_tasks(5)
        for (unsigned long i = n - 1; i > 0; i--) {
            double *p = a + i * n;
#pragma omp task if (i % 8 == 0)
            p[1] = 0.5 * p[1] + i;
#pragma omp taskloop num_tasks(2) if (i % 16 == 0)
            for (int j = 2; j < 12; j++) p[j] = 0.5 * p[j] + 1;
        }
#pragma omp taskloop
        for (int i = h % 2; i < 1; i++) a[i] += 1;
#pragma omp taskloop nogroup grainsize(4)
        for (int i = 1; i < n; i++) a[(long) i * n] += 0.5;
#pragma omp taskwait
    }
}
int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[2]) : 100, times = argc > 3 ? atoi(argv[3]) : 10;
    const char *shape = argc > 1 ? argv[1] : "diagonals";
    if (argc > 4) dies = atol(argv[4]);
    double *a = malloc(sizeof(double) * n * n), s = 0;
    for (long i = 0; i < (long) n * n; i++) a[i] = i % 17;
    static const struct { const char *name; void (*of)(double *, int); } all[] = {
        { "diagonals", diagonals }, { "bounds", bounds }, { "kinds", kinds }, { "several", several },
        { "nested", nested }, { "turns", turns }, { "lines", lines },
    };
    omp_set_max_active_levels(2);
    for (int k = 0; k < 7; k++)
        for (int t = 0; t < times && !strcmp(all[k].name, shape); t++) all[k].of(a, n);
    for (long i = 0; i < (long) n * n; i++) s += a[i] * (i % 11);
    printf("%.15e\n", s);
}
