// A function that ends the program counts, computes and says how often it was called: once.
#include <stdio.h>
#include <stdlib.h>

enum { N = 200 };
int calls;
double out[N];

__attribute__((noinline)) static double compute(double x, int n) {
    for (int k = 0; k < n; k++) x = x * 0.5 + k;
    return x;
}
__attribute__((noinline)) static void ends(int i) {
    calls++;
    out[0] = compute(i, 5000000);
    printf("%d calls\n", calls);
    exit(0);
}
__attribute__((noinline)) static double item(int i) {
    if (i == 60) ends(i);
    return compute(i, 50000);
}

int main(void) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < N; i++) out[i] = item(i);
    printf("%f\n", out[3]);
    return 0;
}
