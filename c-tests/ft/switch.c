/* Loops whose bodies are switches, for which the compiler makes tables of jumps: one in another, in Fortran's manner with one alternative far from
 * the others, and with a part of the function elsewhere (what is cold). `switch pure`: what is executed twice gives the same. `switch merges`:
 * tiny loops with reductions, whose results are merged outside of any call of the runtime. `switch counts`: alternatives that count in a
 * shared variable, which must not be executed twice. */
#include <stdio.h>
#include <string.h>

enum { N = 2048 };
static unsigned char kind[N], other[N];
static double a[N];
static long shared[4];

__attribute__((noinline)) static double work(double x) {
    for (int i = 0; i < 300; i++) x = x * 1.0000001 + 1e-9;
    return x;
}

__attribute__((cold, noinline)) static double rarely(double x) { return work(work(x)) - 1; }

static inline double one(int i) {
    double x = i;
    switch (kind[i]) {
    case 0: return work(x) * 2;
    case 1: return work(x + 1) - 3;
    case 2:
        switch (other[i]) {
        case 0: return work(-x);
        case 1: return x / 7;
        case 2: return work(x) + work(2 * x);
        case 3: return rarely(x);
        case 4: return 12;
        case 5: return work(x * x);
        default: return -x;
        }
    case 3: return work(work(x)) / 3;
    case 4: return 7;
    case 5: return x - work(x + 5);
    case 6: return work(x) * x;
    case 9: return rarely(x) + work(-x);
    default: return 1;
    }
}

static void pure(void) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++) a[i] = one(i);
}

static long merges(void) {
    long sum = 0;
    for (int round = 0; round < 40; round++) {
        long part = 0;
#pragma omp parallel for schedule(dynamic, 2) reduction(+ : part)
        for (int i = 0; i < 16; i++) switch (kind[i + round]) {
            case 0: part += i; break;
            case 1: part += 3 * i; break;
            case 2: part += i ^ 5; break;
            case 3: part -= 2 * i; break;
            case 4: part += round; break;
            case 5: part += (long)work(i); break;
            case 6: part += 11; break;
            default: part += 1 + i * i; break;
            }
        sum = sum * 3 + part;
    }
    return sum;
}

static void counts(void) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++) switch (kind[i]) {
        case 0: a[i] = work(i); break;
        case 1:
#pragma omp atomic
            shared[0]++;
            a[i] = work(2 * i);
            break;
        case 2: a[i] = work(i) + 1; break;
        case 4: a[i] = work(work(i)); break;
        case 5: a[i] = work(i) - 1; break;
        case 7:
#pragma omp atomic
            shared[1] += i;
            break;
        case 8: a[i] = rarely(i); break;
        default: a[i] = work(3 * i); break;
        }
}

int main(int argc, char **argv) {
    for (int i = 0; i < N; i++) kind[i] = (i * 7919u >> 3) % 11, other[i] = (i * 104729u >> 4) % 7;
    const char *what = argc > 1 ? argv[1] : "pure";
    for (int k = 0; k < 4; k++) {
        if (!strcmp(what, "pure")) pure();
        if (!strcmp(what, "merges")) printf("%ld\n", merges());
        if (!strcmp(what, "counts")) counts();
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i] * (i % 13);
    printf("%.15e %ld %ld\n", sum, shared[0], shared[1]);
}
