#include "inline.hpp"

double other(std::vector<double> &v) {
    update<double>(v, 0.25);
    return sum(v) > 0 ? v[0] : 0;
}
