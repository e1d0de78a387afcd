// C++: iterators, range-for, user reductions, exceptions inside a region, constructors of private copies.
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

struct Point {
    long x = 0, y = 0;
    Point &operator+=(const Point &o) { x += o.x, y += o.y; return *this; }
};
#pragma omp declare reduction(add : Point : omp_out += omp_in)

int main() {
    std::vector<long> v(1000);
    std::iota(v.begin(), v.end(), 1);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 9)
    for (auto it = v.begin(); it < v.end(); ++it) sum += *it;
    long range = 0;
#pragma omp parallel for reduction(+ : range) schedule(guided)
    for (auto x : v) range += x;
    std::printf("%ld %ld\n", sum, range);

    Point p;
#pragma omp parallel for reduction(add : p) schedule(dynamic, 4)
    for (int i = 0; i < 100; i++) p.x += i, p.y -= i;
    std::printf("%ld %ld\n", p.x, p.y);

    int caught = 0;
#pragma omp parallel for reduction(+ : caught) schedule(dynamic)
    for (int i = 0; i < 50; i++) {
        try {
            if (i % 7 == 0) throw std::runtime_error("seven");
        } catch (const std::exception &) { caught++; }
    }
    std::printf("caught %d\n", caught);

    std::string text = "abc";
    std::vector<std::string> out(8);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(text, i) shared(out)
        {
            text += std::to_string(i);
            out[i] = text;
        }
    }
    for (auto &s : out) std::printf("%s ", s.c_str());
    std::printf("\n");
    std::vector<int> seen(64);
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop
        for (auto it = seen.begin(); it < seen.end(); ++it) *it = 1;
    }
    std::printf("%d\n", std::accumulate(seen.begin(), seen.end(), 0));
}
