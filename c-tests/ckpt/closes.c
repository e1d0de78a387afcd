/* Reads some numbers from its standard input, a file, and closes it half-way. */
#include <omp.h>
#include <stdio.h>
int main(void) {
    long sum = 0;
    for (int step = 0; step < 200; step++) {
        double until = omp_get_wtime() + 0.002;
#pragma omp parallel reduction(+ : sum)
        {
            while (omp_get_wtime() < until) {}
            sum += step;
        }
        int k;
        if (step < 60 && scanf("%d", &k) == 1) sum = sum * 3 + k;
        if (step == 60) fclose(stdin);
    }
    printf("%ld\n", sum);
    return 0;
}
