/* Variables of `declare target link`, as kernels use them: they are on a device while they are mapped. */
#include <omp.h>
#include <stdio.h>

enum { N = 400 };
static int failures, shared, table[N], single;
#pragma omp declare target link(table, single)
static void check(int ok, const char *what) {
    if (!ok) failures++, printf("WRONG %s\n", what);
}
int main(void) {
    int ok = 1, got = 0;
#pragma omp target map(from : shared)
    shared = omp_is_initial_device();
    for (int i = 0; i < N; i++) table[i] = i;
#pragma omp target map(tofrom : table)
    for (int i = 0; i < N; i++) table[i] *= 2;
    for (int i = 0; i < N; i++) ok &= table[i] == 2 * i;
    check(ok, "a whole array");
    single = 7;
#pragma omp target enter data map(to : single, table)
    single = 8;
#pragma omp target map(from : got) map(alloc : single, table)
    got = 1000 * single + table[5];
    /* Where regions run as the host's functions variables are the host's. */
    check(got == 7010 || got == 8010, "what was mapped before");
#pragma omp target update to(single)
#pragma omp target map(from : got) map(alloc : single)
    got = single++;
#pragma omp target exit data map(from : single) map(release : table)
    check(got == 8 && single == 9, "update, and back");
    puts(failures ? "failed" : "all right");
    return failures != 0;
}
