// What blocks.cpp and chains.cpp share: cells that own blocks, which grow, and are exchanged for new ones.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

struct Cell {
    std::unique_ptr<double[]> at;
    std::size_t n;
    std::vector<double> past;
};

// A chain of nodes that each iteration builds, changes and takes apart.
struct Node {
    double value;
    Node *next;
};
Node *chain_of(const double *x, std::size_t n);
double taken_apart(Node *first);

// Works in a vector of its own, and gives the cell another block.
double exchanged(Cell &c, double s);
