/* Programs that are wrong about what is dead where a checkpoint may be taken: poisoned, they are told what
   was read, where it was said, and who reads it. The argument says what is read: (s) a static array, (h) a
   block of the heap, (u) one that is only counted up, (c) what is handed to a system call, (t) as promp-cc's
   tables say it, (n) nothing: what is said is right. With -DHIDDEN, built by promp-cc, it is promp-cc that is
   wrong: it does not see what inline assembler reads. The second argument says how many steps. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void promp_dead(const void *start, size_t bytes) __attribute__((weak));
void promp_potential_ckpt(void) __attribute__((weak));
void promp_dead_written(const size_t *list) __attribute__((weak));

enum { N = 1 << 16 };
static double kept[N] __attribute__((used)), work[N], sums[N];
static long counted[N];
static double *heap;
static int ends[2]; /* of a pipe */

#ifdef HIDDEN
static double hidden[N];

/* GCC knows of no more than that `i` goes in and `x` comes out. */
__attribute__((noinline)) static double reads(int t) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < N; i++) {
        double x;
        __asm__("lea hidden(%%rip), %%rax\n\tmovsd (%%rax,%1,8), %0" : "=x"(x) : "r"(i) : "rax");
        sum += x;
    }
    return sum;
}

__attribute__((noinline)) static double writes(int t) {
    double sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) hidden[i] = t + i % 7;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += hidden[i];
    return sum;
}

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    double sum = 0;
    for (int t = 0; t < steps; t++) {
#pragma promp checkpoint
        sum += reads(t);
        sum += writes(t);
    }
    printf("%.17g\n", sum);
    return 0;
}
#else

static const struct { char what[24], place[24]; } text = { "kept (of a table)", "main (wrong.c:1)" };

__attribute__((noinline)) static void place(char what) {
    if (!promp_dead) return;
    promp_dead(work, sizeof work);
    if (what == 's' || what == 'c') promp_dead(kept, sizeof kept);
    if (what == 'h') promp_dead(heap, N * sizeof *heap);
    if (what == 'u') promp_dead(counted, sizeof counted);
    if (what == 't') {
        /* The second text stands right behind the first one's zero. */
        static char both[48];
        strcpy(both, text.what), strcpy(both + strlen(both) + 1, text.place);
        size_t list[] = { 8, 1, (size_t)kept, 8, 1, 8, N, (size_t)both };
        promp_dead_written(list);
    }
    promp_potential_ckpt();
    __asm__ volatile("");
}

__attribute__((noinline)) static void step(char what, int t) {
    const double *from = what == 'h' ? heap : what == 's' || what == 't' ? kept : sums;
#pragma omp parallel for
    for (int i = 0; i < N; i++) work[i] = from[i] * 0.5 + t;
#pragma omp parallel for
    for (int i = 0; i < N; i++) sums[i] = sums[i] * 0.25 + work[i];
    /* One element of every second page. */
    if (what == 'u')
        for (long *c = counted; c < counted + N; c += 1024) __asm__("incq %0" : "+m"(*c));
    if (what == 'c') {
        char back[512];
        syscall(SYS_write, ends[1], kept + N / 2, sizeof back);
        if (read(ends[0], back, sizeof back) != sizeof back) abort();
    }
}

int main(int argc, char **argv) {
    char what = argc > 1 ? argv[1][0] : 'n';
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    if (pipe(ends)) return 1;
    heap = malloc(N * sizeof *heap);
    for (int i = 0; i < N; i++) kept[i] = heap[i] = i % 97, counted[i] = i;
    for (int t = 0; t < steps; t++) {
        place(what);
        step(what, t);
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += sums[i] + kept[i] + heap[i] + counted[i];
    printf("%.17g\n", sum);
    return 0;
}
#endif
