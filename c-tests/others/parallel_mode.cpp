// libstdc++'s parallel mode (-D_GLIBCXX_PARALLEL): sorts and other algorithms over integers, whose regions
// are those of the library's headers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? atol(argv[1]) : 200000;
    std::vector<uint32_t> v(n), w(n);
    uint64_t state = 88172645463325252ull, sum = 0;
    for (int round = 0; round < 4; round++) {
        for (auto &x : v) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            x = state >> 40;
        }
        auto low = [](uint32_t a, uint32_t b) { return (a & 0xffff) < (b & 0xffff); };
        auto mix = [](uint32_t a, uint32_t b) { return a ^ (b >> 3); };
        std::stable_sort(v.begin(), v.end(), low);
        sum = sum * 31 + v[n / 3];
        std::sort(v.begin(), v.end());
        std::partial_sum(v.begin(), v.end(), w.begin());
        std::transform(v.begin(), v.end(), w.begin(), w.begin(), mix);
        sum = sum * 31 + std::accumulate(w.begin(), w.end(), uint64_t{0});
        sum += std::count(v.begin(), v.end(), v[n / 2]);
        std::nth_element(w.begin(), w.begin() + n / 2, w.end());
        sum = sum * 31 + w[n / 2];
    }
    printf("%llu %d\n", (unsigned long long)sum, (int)std::is_sorted(v.begin(), v.end()));
    return 0;
}
