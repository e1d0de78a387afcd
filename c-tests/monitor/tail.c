// Functions that end with a region. Optimised, they jump to the runtime, which then returns to main.
#include <stdio.h>
#define APART __attribute__((noinline, noclone, no_icf))

enum { N = 400 };
static volatile double a[N];

APART void plain(void) {
#pragma omp parallel num_threads(2) // plain
  a[1] += 1;
}

APART void looped(void) {
#pragma omp parallel for num_threads(2) schedule(dynamic, 20) // looped
  for (int i = 0; i < N; i++) a[i] += i;
}

APART void through(void) { plain(); }

APART void nested(void) {
#pragma omp parallel num_threads(2) // nested
  looped();
}

static void (*volatile called)(void) = plain;

int main(void) {
  plain();
  looped();
  through();
  called();
  nested();
#pragma omp parallel num_threads(2) // main
  a[2] += 1;
  puts("done");
}
