#include "pieces.hpp"
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

int failures;

// In a critical section, as functions for errors are that may be called by several threads. What cannot be
// gone on with ends the program; the rest is thrown, one kind of it before the section.
void fails(const char *why, int n) {
    if (n % 2) throw std::length_error(std::string(why) + " at once");
#pragma omp critical
    {
        failures++;
        if (n < -1000) {
            std::fprintf(stderr, "%s: %d\n", why, n);
            std::exit(1);
        }
    }
    throw std::runtime_error(std::string(why) + " " + std::to_string(n));
}

double *get(int n) {
    if (n < 0) fails("negative", n);
    double *p = static_cast<double *>(std::malloc(n * sizeof *p));
    if (!p) fails("no memory", n);
    return p;
}
