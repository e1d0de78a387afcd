/* Short dynamic loops: a few chunks for each thread, which take long enough for all to get some. */
#include <stdio.h>
#include <unistd.h>

enum { N = 4000 };
static long a[N];

int main(void) {
    long sum = 0;
    int last = -1;
    for (int r = 0; r < 4; r++) {
#pragma omp parallel for schedule(nonmonotonic : dynamic, 25) lastprivate(last)
        for (int i = 0; i < N; i++) {
            if (i % 25 == 0) usleep(200);
            a[i] = i % 17 * (r + 1) + i % 5;
            last = i;
        }
#pragma omp parallel for schedule(dynamic, 40) reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            if (i % 40 == 0) usleep(200);
            sum += a[i] * ((i + r) % 3);
        }
    }
    printf("short %ld %d\n", sum, last);
    return 0;
}
