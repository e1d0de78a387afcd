// Iterations take blocks and give them back, by operators that the program may have replaced (pool.cpp).
#include <cmath>
#include <cstdio>
#include <vector>
#ifdef POOL
#include POOL
#else
#include "pool.hpp"
#endif

struct Pair {
    double x, y;
};

int main() {
    const int pairs = 200;
    std::vector<Pair *> all(pairs);
    for (int i = 0; i < pairs; i++) all[i] = new Pair{i * 0.5, 1};
    std::vector<double> sums(pairs);
    for (int r = 0; r < 40; r++) {
#pragma omp parallel for schedule(dynamic, 5)
        for (int i = 0; i < pairs; i++) {
            Pair *next = new Pair{all[i]->y, all[i]->x * 0.5};
            delete all[i];
            all[i] = next;
            double *t = new double[20];
            for (int k = 0; k < 20; k++) t[k] = std::sqrt(next->x * next->x + k);
            for (int k = 0; k < 20; k++) sums[i] = sums[i] * 0.5 + t[k];
            for (int k = 0; k < 200; k++) sums[i] = std::sqrt(sums[i] * sums[i] + 0.5) * 0.75;
            delete[] t;
            next->y = sums[i];
        }
    }
    double s = 0;
    for (int i = 0; i < pairs; i++) s = s * 0.999 + sums[i] + all[i]->x * 0.5 + all[i]->y;
    std::printf("%.17g %ld %ld\n", s, taken(), given());
    return 0;
}
