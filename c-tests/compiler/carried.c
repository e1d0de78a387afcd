/* Loops in which a thread carries something from chunk to chunk, in the order in which it gets them: under
   libgomp, which counts upwards, whatever the schedule says. Nothing of it is in memory that others see, so a
   chunk may be executed again; but only by its own thread, which has had nothing behind it. */
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1200 };
static double a[MOST];

static double value(int i) {
    double x = i;
    for (int w = 0; w < 400; w++) x = x * 1.0000001 + w;
    return x;
}

static int in_region(int n) {
    int back = 0;
#pragma omp parallel reduction(+ : back)
    {
        int last = -1;
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < n; i++) {
            a[i] = value(i);
            back += i < last;
            last = i;
        }
    }
    return back;
}

static int combined(int n) {
    int back = 0, last = -1;
#pragma omp parallel for schedule(dynamic, 3) firstprivate(last) reduction(+ : back)
    for (int i = 0; i < n; i++) {
        a[i] = value(i);
        back += i < last;
        last = i;
    }
    return back;
}

static int guided(int n) {
    int back = 0;
#pragma omp parallel reduction(+ : back)
    {
        int last = -1;
#pragma omp for schedule(guided, 2) nowait
        for (int i = 0; i < n; i++) {
            a[i] = value(i);
            back += i < last;
            last = i;
        }
    }
    return back;
}

/* The same without anything that is carried: others may help. */
static double free_of_order(int n) {
    double sum = 0;
#pragma omp parallel for schedule(dynamic, 3)
    for (int i = 0; i < n; i++) a[i] = value(i);
    for (int i = 0; i < n; i++) sum += a[i];
    return sum;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 50, back = 0;
    double sum = 0;
    for (int r = 0; r < rounds; r++) {
        back += in_region(MOST) + combined(MOST) + guided(MOST);
        sum += free_of_order(MOST);
    }
    printf("%d chunks below the one before, %.17g\n", back, sum);
    return back != 0;
}
