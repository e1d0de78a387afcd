/* Prints promp's version: 0 without it. */
#include <omp.h>
#include <promp.h>
#include <stdio.h>
int main(void) { return printf("%d\n", omp_in_parallel() + promp_version()) < 0; }
