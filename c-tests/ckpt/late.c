/* Uses the runtime late: there are checkpoints from before. */
#include <stdio.h>
#include <time.h>
int main(void) {
    static double out[1000];
    struct timespec t = {0, 100000000};
    nanosleep(&t, NULL);
    #pragma omp parallel for schedule(static)
    for (int i = 0; i < 1000; i++) {
        for (volatile int k = 0; k < 20000; k++);
        out[i] += i;
    }
    double s = 0;
    for (int i = 0; i < 1000; i++) s += out[i];
    printf("%.0f\n", s);
    return 0;
}
