#include "inline.hpp"

int main() {
    std::vector<double> v(4000);
    for (std::size_t i = 0; i < v.size(); i++) v[i] = double(i % 17);
    double s = 0;
    for (int r = 0; r < 15; r++) {
        update(v, 1.5);
        s += other(v);
    }
    bool positive = sum(v) > 0;
    for (double x : v) s += x;
    std::printf("sum %.9f %d\n", s, positive);
}
