/* An array of two megabytes, on the device and back: what the host had is there unless all went well. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    enum { N = 1 << 18 };
    double *a = malloc(N * sizeof *a);
    int on_device = 1;
#pragma omp target map(to : on_device)
    on_device = 0;
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target map(tofrom : a[0:N])
    for (int i = 0; i < N; i++) a[i] += 1;
    printf("%s %g\n", on_device ? "device" : "host", a[N - 1]);
    return 0;
}
