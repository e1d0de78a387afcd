/* Static variables that are made at their first use, in a region, and take some time. */
#include <cstdio>
#include <omp.h>

static double made(int i) {
    volatile double x = i;
    for (int k = 0; k < 200000; k++) x = x * 0.5 + k;
    return x;
}

template <int N> struct Value {
    static double get() {
        static double value = made(N);
        return value;
    }
};

template <int N> static double sum(int i) {
    if constexpr (N == 0) return 0;
    else return (i % 20 == N % 20 ? Value<N>::get() : 0) + sum<N - 1>(i);
}

int main() {
    static double v[400];
    double s = 0;
    for (int r = 0; r < 3; r++) {
        #pragma omp parallel for schedule(dynamic, 5)
        for (int i = 0; i < 400; i++) v[i] = sum<60>(i);
    }
    for (int i = 0; i < 400; i++) s += v[i];
    printf("%f\n", s);
    return 0;
}
