// Loops over vectors, one with a function of another file (area.cpp).
#include <cstdio>
#include <vector>

double area(const double *corner);

template <class T> static void smooth(std::vector<T> &out, const std::vector<T> &in)
{
#pragma omp parallel for
    for (std::size_t i = 1; i < in.size() - 1; i++)
        out[i] = (in[i - 1] + in[i + 1]) / 2;
}

int main()
{
    std::vector<double> corners(400000, 1.5), areas(100000), smoothed(100000);
    for (int t = 0; t < 20; t++) {
#pragma omp parallel for schedule(dynamic, 1000)
        for (std::size_t i = 0; i < areas.size(); i++)
            areas[i] = area(&corners[4 * i]);
        smooth(smoothed, areas);
    }
    std::printf("%g\n", smoothed[500]);
}
