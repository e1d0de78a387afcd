/* Variables of `declare target link`: the device has a pointer of each, which gets the address of what is
 * mapped. With image.h, whose device's pointers are read here. */
#include <stdint.h>
#include <stdio.h>

static int table[100], single, part[50];
#pragma omp declare target link(table, single, part)
#pragma omp declare target
/* How many of the device's pointers lead to `value` at this place. */
static __attribute__((noinline)) int lead_to(int value, int at) {
    int n = 0;
    for (int i = 0; i < 3; i++) n += fake_links[i] && ((int *)fake_links[i])[at] == value;
    return n;
}
#pragma omp end declare target

int main(void) {
    int first = -1, second = -1, third = -1;
    for (int i = 0; i < 100; i++) table[i] = i, part[i / 2] = 1000 + i / 2;
#pragma omp target map(tofrom : table) map(from : first)
    first = lead_to(99, 99);
    /* Each time it is mapped it lies elsewhere. */
    single = 7;
#pragma omp target enter data map(to : single, table)
    single = 8, table[3] = -3;
#pragma omp target map(from : second, third)
    second = lead_to(7, 0), third = lead_to(3, 3);
    printf("%d %d %d", first, second, third);
#pragma omp target update to(single)
#pragma omp target map(from : second)
    second = lead_to(8, 0);
#pragma omp target exit data map(release : single) map(from : table)
    printf(" %d %d", second, table[3]);
    /* Of a part the pointer leads to where the whole would begin: kernels count from there. (libgomp 12's
       leads to the part.) */
#pragma omp target map(to : part[20 : 10]) map(from : first)
    first = lead_to(1025, 25);
    printf(" %d\n", first);
    return 0;
}
