/* A device with little memory: many small arrays come and go, then one comes that needs most of it, while one
 * of the small ones stays. Prints sums that the device has made. */
#include <stdio.h>
#include <stdlib.h>

enum { SMALL = 60000, LARGE = 700000, MANY = 12 };

int main(void) {
    unsigned char *small[MANY];
    for (int i = 0; i < MANY; i++) small[i] = calloc(SMALL, 1);
    unsigned char *large = malloc(LARGE);
    for (int round = 0; round < 2; round++) {
        long sum = 0, all = 0;
        for (int i = 0; i < MANY; i++) {
            small[i][7] = i + round;
#pragma omp target enter data map(to : small[i][0 : SMALL])
        }
        for (int i = 0; i < MANY; i++) {
            unsigned char *p = small[i];
#pragma omp target map(tofrom : sum)
            sum += p[7];
        }
        for (int i = 1; i < MANY; i++) {
#pragma omp target exit data map(release : small[i][0 : SMALL])
        }
        for (int i = 0; i < LARGE; i++) large[i] = i + round;
#pragma omp target map(to : large[0 : LARGE]) map(tofrom : all)
        for (int i = 0; i < LARGE; i++) all += large[i];
        unsigned char *stays = small[0];
#pragma omp target map(tofrom : all)
        all += stays[7];
#pragma omp target exit data map(release : stays[0 : SMALL])
        printf("%ld %ld\n", sum, all);
    }
    for (int i = 0; i < MANY; i++) free(small[i]);
    free(large);
    return 0;
}
