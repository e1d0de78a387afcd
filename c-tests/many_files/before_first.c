// A function updates memory, computes, calls another file's function, and makes a runtime call: what it does
// in front of that is part of its caller's segment.
#include <stdio.h>

int twice(int i);

enum { N = 64 };
int count[N];
double out[N], sink[N];

__attribute__((noinline)) static double compute(double x, int n) {
    for (int k = 0; k < n; k++) x = x * 0.5 + k;
    return x;
}
__attribute__((noinline)) static void step(int i) {
    count[i]++;
    sink[i] = compute(i, 40000);
    out[i] += twice(i);
#pragma omp critical
    out[i] += 1;
}

int main(void) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < N; i++) step(i);
    int s = 0;
    double t = 0;
    for (int i = 0; i < N; i++) s += count[i], t += out[i];
    printf("%d %.3f\n", s, t);
    return 0;
}
