// Blocks that iterations allocate, keep, exchange and delete. Executed twice, each update would show, and a
// block that was deleted too early would be somebody else's.
#include "blocks.hpp"
#include <cmath>
#include <cstdio>

int main() {
    const int cells = 240, length = 24;
    std::vector<Cell> all(cells);
    for (int i = 0; i < cells; i++) {
        all[i].n = length + i % 5;
        all[i].at.reset(new double[all[i].n]);
        for (std::size_t k = 0; k < all[i].n; k++) all[i].at[k] = i % 17 + k * 0.5;
    }
    std::vector<double> sums(cells), more(cells);
    for (int r = 0; r < 60; r++) {
#pragma omp parallel for
        for (int i = 0; i < cells; i++) {
            sums[i] = sums[i] * 0.5 + exchanged(all[i], r * 0.25);
            Node *chain = chain_of(all[i].at.get(), all[i].n);
            for (Node *p = chain; p; p = p->next) p->value = std::sqrt(p->value * p->value + 1);
            sums[i] += taken_apart(chain) * 0.25;
        }
#pragma omp parallel for schedule(dynamic, 5)
        for (int i = 0; i < cells; i++) {
            std::vector<double> grown(all[i].past.size() + 1);
            for (std::size_t k = 0; k < all[i].past.size(); k++)
                grown[k + 1] = all[i].past[k] * 0.5 + sums[i];
            grown[0] = more[i];
            if (grown.size() > 40) grown.resize(3);
            all[i].past.swap(grown);
            for (int k = 0; k < 40; k++)
                more[i] = std::sqrt(more[i] * more[i] + all[i].past[0] * 0.01 + 1) * 0.75;
        }
    }
    double s = 0;
    for (int i = 0; i < cells; i++) {
        s = s * 0.999 + sums[i] + more[i];
        for (std::size_t k = 0; k < all[i].n; k++) s = s * 0.999 + all[i].at[k];
        for (double x : all[i].past) s = s * 0.999 + x;
    }
    std::printf("%.17g\n", s);
    return 0;
}
