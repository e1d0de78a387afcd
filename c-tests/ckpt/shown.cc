// Steps whose sum does not depend on the number of threads, which C++'s streams show (argument: steps).
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <omp.h>
#include <string>
#include <vector>
static int told;

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 300;
    std::vector<uint64_t> a(20000), b;
    b.resize(30000);
    std::string name = "threads";
    std::cerr << name << ": " << omp_get_max_threads() << std::endl;
    if (omp_get_max_threads() > 1) std::cerr << "several\n";
    for (int s = 0; s < steps; s++) {
#pragma omp parallel
        {
#pragma omp single
            told = omp_get_num_threads();
#pragma omp for schedule(dynamic, 500)
            for (int i = 0; i < 30000; i++) {
                uint64_t x = a[i % 20000] + s;
                for (int k = 0; k < 12; k++) x ^= x >> 31, x *= 0x9e3779b97f4a7c15u;
                b[i] = x;
            }
#pragma omp for
            for (int i = 0; i < 20000; i++) a[i] = b[i + 10000] + i;
        }
        if (s == 0) std::cerr << told << std::endl;
    }
    uint64_t sum = 0;
    for (uint64_t x : a) sum = sum * 31 + x;
    std::cout << sum << std::endl;
    std::cerr << "teams of " << told << std::endl;
}
