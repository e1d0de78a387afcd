/* Regions that are over before they have begun. */
int main(void) {
    for (int round = 0; round < 60000; round++) {
#pragma omp parallel
        {
            for (volatile int i = 0; i < 50; i++) {}
        }
    }
    return 0;
}
