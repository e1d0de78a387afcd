// Inline functions and templates with loops: both units of the program have them, the linker keeps one.
#include <cstddef>
#include <cstdio>
#include <vector>

template <typename T> __attribute__((noinline)) void update(std::vector<T> &v, T by) {
#pragma omp parallel for
    for (std::size_t i = 0; i < v.size(); i++)
        for (int k = 0; k < 400; k++) v[i] = v[i] * T(0.999) + by;
}

inline __attribute__((noinline)) double sum(const std::vector<double> &v) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (std::size_t i = 0; i < v.size(); i++) s += v[i];
    return s;
}

double other(std::vector<double> &v);
