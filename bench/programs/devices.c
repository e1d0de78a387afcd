/* devices N WHICH: one device construct N times, by one thread; for counting instructions. Cases 3 to 5 need
 * an N that is a multiple of 512. */
#include <stdlib.h>

/* GCC leaves out of a region's maps what the region does not use: sums of what the lists name. */
#define V4(p) p##0, p##1, p##2, p##3
#define V16(p) V4(p##0), V4(p##1), V4(p##2), V4(p##3)
#define V64(p) V16(p##0), V16(p##1), V16(p##2), V16(p##3)
#define V256(p) V64(p##0), V64(p##1), V64(p##2), V64(p##3)
#define S4(p) (p##0 + p##1 + p##2 + p##3)
#define S16(p) (S4(p##0) + S4(p##1) + S4(p##2) + S4(p##3))
#define S64(p) (S16(p##0) + S16(p##1) + S16(p##2) + S16(p##3))
#define S256(p) (S64(p##0) + S64(p##1) + S64(p##2) + S64(p##3))
static int V16(a), V256(b), x[256][64];

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[1]) : 0, which = argc > 2 ? atoi(argv[2]) : 0;
    switch (which) {
    case 0:
        for (int i = 0; i < n; i++) {
#pragma omp target
            __asm__ volatile("");
        }
        break;
    case 1:
        for (int i = 0; i < n; i++) {
#pragma omp target map(tofrom : a00)
            a00++;
        }
        break;
    case 2:
        for (int i = 0; i < n; i++) {
#pragma omp target map(tofrom : V16(a))
            a00 = S16(a);
        }
        break;
    case 3:
        for (int i = 0; i < n; i += 256) {
#pragma omp target map(tofrom : V256(b))
            b0000 = S256(b);
        }
        break;
    case 4:
        for (int i = 0; i < n; i += 512) {
            for (int k = 0; k < 256; k++) {
#pragma omp target enter data map(to : x[k][0 : 64])
            }
            for (int k = 0; k < 256; k++) {
#pragma omp target exit data map(release : x[k][0 : 64])
            }
        }
        break;
    case 5:
#pragma omp target data map(tofrom : V16(a))
        for (int i = 0; i < n; i++) {
#pragma omp target map(tofrom : V16(a))
            a00 = S16(a);
        }
        break;
    default: {
#pragma omp target enter data map(to : x[7])
        for (int i = 0; i < n; i++) {
#pragma omp target update to(x[7])
        }
    }
    }
    return 0;
}
