// An integer sort with counts for each thread, as C++ programs write it: everything behind vectors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <vector>

struct Sorter {
    int bits, buckets, threads;
    std::vector<std::vector<int>> counts;
    std::vector<int> keys, sorted, histogram;
    Sorter(int n, int bits_)
        : bits(bits_), buckets(1 << 10), threads(omp_get_max_threads()), counts(threads), keys(n), sorted(n),
          histogram(1 << bits_) {
        for (auto &c : counts) c.resize(buckets);
        uint64_t x = 12345;
        for (int &k : keys) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            k = (x >> 33) & ((1 << bits) - 1);
        }
    }
    void rank() {
        int shift = bits - 10;
#pragma omp parallel
        {
            std::vector<int> &mine = counts[omp_get_thread_num()];
            for (int i = 0; i < buckets; i++) mine[i] = 0;
#pragma omp for schedule(static)
            for (size_t i = 0; i < keys.size(); i++) mine[keys[i] >> shift]++;
#pragma omp single
            for (int b = 0, at = 0; b < buckets; b++)
                for (int t = 0; t < threads; t++) {
                    int n = counts[t][b];
                    counts[t][b] = at;
                    at += n;
                }
#pragma omp for schedule(static)
            for (size_t i = 0; i < keys.size(); i++) sorted[mine[keys[i] >> shift]++] = keys[i];
        }
#pragma omp parallel for
        for (size_t i = 0; i < histogram.size(); i++) histogram[i] = 0;
        int per = 1 << shift;
#pragma omp parallel for schedule(dynamic, 8)
        for (int b = 0; b < buckets; b++) {
            size_t lo = b ? counts[threads - 1][b - 1] : 0, hi = counts[threads - 1][b];
            for (size_t i = lo; i < hi; i++) histogram[sorted[i]]++;
            for (int k = 1; k < per; k++) histogram[b * per + k] += histogram[b * per + k - 1];
        }
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200000;
    Sorter s(n, 16);
    uint64_t sum = 0;
    int rounds = 5 * (argc > 2 ? atoi(argv[2]) : 1);
    for (int round = 0; round < rounds; round++) {
        s.keys[round % n] = round;
        s.rank();
        for (int i = 0; i < 1 << 16; i += 97) sum = sum * 31 + s.histogram[i];
    }
    printf("%llu\n", (unsigned long long) sum);
}
