#include "pieces.hpp"
#include <cstdlib>

double piece(int i) {
    int n = i % 7 == 3 ? -i : 500 + i % 5;
    double *p = get(n);
    for (int k = 0; k < n; k++) p[k] = i + k * 0.5;
    for (int r = 0; r < 60; r++)
        for (int k = 1; k < n; k++) p[k] = (p[k] + p[k - 1]) * 0.5;
    double s = 0;
    for (int k = 0; k < n; k++) s += p[k];
    std::free(p);
    return s;
}
