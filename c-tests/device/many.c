/* What constructs cost: an empty region, maps of 1, 16 and 256 variables, update. Microseconds each. (GCC
 * leaves out of a region's maps what the region does not use.) */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define V4(p) p##0, p##1, p##2, p##3
#define V16(p) V4(p##0), V4(p##1), V4(p##2), V4(p##3)
#define S4(p) (p##0 + p##1 + p##2 + p##3)
#define S16(p) (S4(p##0) + S4(p##1) + S4(p##2) + S4(p##3))
static int V16(a);
#define TIME(n, ...) \
    ({ \
        double t = omp_get_wtime(); \
        for (int i = 0; i < (n); i++) { __VA_ARGS__ } \
        (omp_get_wtime() - t) / (n) * 1e6; \
    })

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 2000;
    static int x[256][64];
#pragma omp target
    x[0][0] = 1;
    double empty = TIME(n, _Pragma("omp target") {});
    double one = TIME(n, _Pragma("omp target map(tofrom : a00)") a00++;);
    double sixteen = TIME(n, _Pragma("omp target map(tofrom : a00, a01, a02, a03, a10, a11, a12, a13, a20, a21, \
                                                       a22, a23, a30, a31, a32, a33)")
                          a00 = S16(a););
    for (int i = 0; i < 256; i++) {
#pragma omp target enter data map(to : x[i][0 : 64])
    }
    double update = TIME(n, _Pragma("omp target update to(x[7][0 : 64])") ;);
    for (int i = 0; i < 256; i++) {
#pragma omp target exit data map(release : x[i][0 : 64])
    }
    double many = TIME(n / 100, for (int k = 0; k < 256; k++) {
        _Pragma("omp target enter data map(to : x[k][0 : 64])");
    } for (int k = 0; k < 256; k++) { _Pragma("omp target exit data map(release : x[k][0 : 64])"); });
    printf("%.1f %.1f %.1f %.1f %.1f\n", empty, one, sixteen, many, update);
    return 0;
}
