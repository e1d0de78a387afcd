/* A program's own error: a null pointer in a parallel loop. It must die by its own signal. */
#include <stdio.h>
int main(void) {
    int *p = NULL;
    printf("before\n");
    fflush(stdout);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 100; i++)
        if (i == 50) *(volatile int *)p = i;
    printf("never\n");
    return 0;
}
