// The part of blocks.cpp in another file: new and delete in functions that loops call.
#include "blocks.hpp"

Node *chain_of(const double *x, std::size_t n) {
    Node *first = nullptr;
    for (std::size_t k = 0; k < n; k++) first = new Node{x[k], first};
    return first;
}

double taken_apart(Node *first) {
    double s = 0;
    while (first) {
        Node *next = first->next;
        s = s * 0.75 + first->value;
        delete first;
        first = next;
    }
    return s;
}

double exchanged(Cell &c, double s) {
    std::vector<double> t(c.n + 1);
    for (std::size_t k = 0; k < c.n; k++) t[k + 1] = t[k] * 0.5 + c.at[k];
    std::unique_ptr<double[]> other(new double[c.n]);
    for (std::size_t k = 0; k < c.n; k++) other[k] = c.at[k] * 0.5 + t[k] + s;
    c.at = std::move(other);
    return t[c.n];
}
