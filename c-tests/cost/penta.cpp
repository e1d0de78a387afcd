// Pentadiagonal systems along lines of a grid, solved in place: rows of five, behind pointers that the
// functions get.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Grid {
    int n;
    std::vector<double> data;
    Grid(int n_, double v) : n(n_), data(5 * n_ * n_ * n_, v) {}
    double &operator()(int k, int j, int i, int m) { return data[((k * n + j) * n + i) * 5 + m]; }
};
static void right_hand_side(Grid &r, Grid &u, Grid &f) {
    int n = r.n;
#pragma omp parallel for
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++)
                for (int m = 0; m < 5; m++)
                    r(k, j, i, m) = f(k, j, i, m)
                                    + 0.1 * (u(k, j, i - 1, m) + u(k, j, i + 1, m) + u(k, j - 1, i, m)
                                             + u(k, j + 1, i, m) + u(k - 1, j, i, m) + u(k + 1, j, i, m)
                                             - 6 * u(k, j, i, m));
}
static void solve_lines(Grid &r, Grid &u) {
    int n = r.n;
#pragma omp parallel
    {
        double lhs[64][5], speed[64];
#pragma omp for
        for (int k = 1; k < n - 1; k++)
            for (int j = 1; j < n - 1; j++) {
                for (int i = 0; i < n; i++) speed[i] = std::fabs(u(k, j, i, 1)) + 1;
                for (int i = 0; i < n; i++) {
                    lhs[i][0] = lhs[i][4] = 0.01;
                    lhs[i][1] = lhs[i][3] = -0.1 * speed[i];
                    lhs[i][2] = 1 + speed[i];
                }
                for (int i = 0; i < n - 2; i++) {
                    double f = 1 / lhs[i][2];
                    lhs[i][3] *= f;
                    lhs[i][4] *= f;
                    for (int m = 0; m < 5; m++) r(k, j, i, m) *= f;
                    lhs[i + 1][2] -= lhs[i + 1][1] * lhs[i][3];
                    lhs[i + 1][3] -= lhs[i + 1][1] * lhs[i][4];
                    for (int m = 0; m < 5; m++) r(k, j, i + 1, m) -= lhs[i + 1][1] * r(k, j, i, m);
                    lhs[i + 2][1] -= lhs[i + 2][0] * lhs[i][3];
                    lhs[i + 2][2] -= lhs[i + 2][0] * lhs[i][4];
                    for (int m = 0; m < 5; m++) r(k, j, i + 2, m) -= lhs[i + 2][0] * r(k, j, i, m);
                }
                for (int i = n - 3; i >= 0; i--)
                    for (int m = 0; m < 5; m++)
                        r(k, j, i, m) -= lhs[i][3] * r(k, j, i + 1, m) + lhs[i][4] * r(k, j, i + 2, m);
            }
    }
}
static void add(Grid &u, Grid &r) {
    int n = u.n;
#pragma omp parallel for
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++)
                for (int m = 0; m < 5; m++) u(k, j, i, m) += r(k, j, i, m);
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 24;
    Grid u(n, 1), r(n, 0), f(n, 0.01);
    int times = argc > 2 ? atoi(argv[2]) : 1;
    for (int t = 0; t < times; t++) {
        for (size_t i = 0; i < f.data.size(); i++)
            f.data[i] = 0.001 * (i % 7), u.data[i] = 1 + 0.01 * (i % 5);
        for (int s = 0; s < 8; s++) right_hand_side(r, u, f), solve_lines(r, u), add(u, r);
    }
    double sum = 0;
    for (double x : u.data) sum += x;
    printf("%.9e\n", sum);
}
