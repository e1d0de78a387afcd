// C++: members of classes, references, lambdas, templates in target regions.
#include <cstdio>
#include <omp.h>
#include <vector>

static double sum;
struct Grid {
    int n;
    double *cells;
    Grid(int n) : n(n), cells(new double[n]) {
        for (int i = 0; i < n; i++) cells[i] = i;
#pragma omp target enter data map(to : this[0 : 1]) map(to : cells[0 : n])
    }
    void scale(double by) {
#pragma omp target map(alloc : cells[0 : n])
        for (int i = 0; i < n; i++) cells[i] *= by;
    }
    ~Grid() {
#pragma omp target exit data map(from : cells[0 : n]) map(release : this[0 : 1])
        sum = 0;
        for (int i = 0; i < n; i++) sum += cells[i];
        delete[] cells;
    }
};

template <typename T> T total(const std::vector<T> &v) {
    const T *p = v.data();
    const int n = (int)v.size();
    T s{};
#pragma omp target map(to : p[0 : n]) map(tofrom : s)
    for (int i = 0; i < n; i++) s += p[i];
    return s;
}

int main() {
    {
        Grid g(100);
        g.scale(2);
        g.scale(3);
    }
    int x = 1;
    int &r = x;
#pragma omp target map(tofrom : r)
    r += 41;
    std::vector<int> v(50, 3);
    std::printf("%g %d %d\n", sum, x, total(v));
    return !(sum == 29700 && x == 42 && total(v) == 150);
}
