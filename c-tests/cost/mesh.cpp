// An unstructured mesh: elements gather from their corners, corners gather from their elements, both are
// updated in place.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
typedef double Real;
struct Domain {
    std::vector<Real> x, y, z, xd, yd, zd, fx, fy, fz, e, p, q, v, volo, mass;
    std::vector<int> corner, start, list;
    int n, elements, nodes;
    explicit Domain(int n_) : n(n_), elements(n * n * n), nodes((n + 1) * (n + 1) * (n + 1)) {
        for (auto *a : {&x, &y, &z, &xd, &yd, &zd, &fx, &fy, &fz, &mass}) a->assign(nodes, 0.0);
        for (auto *a : {&e, &p, &q, &v, &volo}) a->assign(elements, 1.0);
        int m = n + 1;
        for (int k = 0, i = 0; k < m; k++)
            for (int j = 0; j < m; j++)
                for (int l = 0; l < m; l++, i++)
                    x[i] = l * 1.1, y[i] = j * 1.2, z[i] = k * 1.3 + 0.01 * l, mass[i] = 1 + i % 3;
        corner.resize(8 * elements);
        std::vector<std::vector<int>> of(nodes);
        for (int k = 0, i = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int l = 0; l < n; l++, i++)
                    for (int c = 0; c < 8; c++) {
                        int node = l + (c & 1) + m * (j + (c >> 1 & 1) + m * (k + (c >> 2)));
                        corner[8 * i + c] = node;
                        of[node].push_back(8 * i + c);
                    }
        start.push_back(0);
        for (auto &o : of) list.insert(list.end(), o.begin(), o.end()), start.push_back(list.size());
    }
    Real &xr(int i) { return x[i]; }
    Real &yr(int i) { return y[i]; }
    Real &zr(int i) { return z[i]; }
};
static inline Real volume(const Real *x, const Real *y, const Real *z) {
    Real a = x[7] - x[0], b = y[7] - y[0], c = z[7] - z[0], d = x[3] - x[4], f = y[3] - y[4], g = z[3] - z[4];
    Real h = x[5] - x[2], k = y[5] - y[2], l = z[5] - z[2];
    return a * (f * l - g * k) - d * (b * l - c * k) + h * (b * g - c * f);
}
static void forces(Domain &d, Real *cx, Real *cy, Real *cz) {
#pragma omp parallel for firstprivate(cx, cy, cz)
    for (int i = 0; i < d.elements; i++) {
        Real x[8], y[8], z[8];
        const int *c = &d.corner[8 * i];
        for (int k = 0; k < 8; k++) x[k] = d.xr(c[k]), y[k] = d.yr(c[k]), z[k] = d.zr(c[k]);
        Real s = -d.p[i] - d.q[i] + 0.01 * volume(x, y, z);
        for (int k = 0; k < 8; k++) {
            cx[8 * i + k] = s * (x[k] - x[7 - k]);
            cy[8 * i + k] = s * (y[k] - y[7 - k]);
            cz[8 * i + k] = s * (z[k] - z[7 - k]);
        }
    }
#pragma omp parallel for firstprivate(cx, cy, cz)
    for (int i = 0; i < d.nodes; i++) {
        Real x = 0, y = 0, z = 0;
        for (int k = d.start[i]; k < d.start[i + 1]; k++)
            x += cx[d.list[k]], y += cy[d.list[k]], z += cz[d.list[k]];
        d.fx[i] = x, d.fy[i] = y, d.fz[i] = z;
    }
}
static void move(Domain &d, Real dt) {
#pragma omp parallel for firstprivate(dt)
    for (int i = 0; i < d.nodes; i++) {
        Real a = d.xd[i] + d.fx[i] / d.mass[i] * dt;
        if (std::fabs(a) < 1e-9) a = 0;
        d.xd[i] = a;
        d.yd[i] += d.fy[i] / d.mass[i] * dt;
        d.zd[i] += d.fz[i] / d.mass[i] * dt;
    }
#pragma omp parallel for firstprivate(dt)
    for (int i = 0; i < d.nodes; i++) d.x[i] += d.xd[i] * dt, d.y[i] += d.yd[i] * dt, d.z[i] += d.zd[i] * dt;
}
static void energy(Domain &d, Real dt) {
#pragma omp parallel for
    for (int i = 0; i < d.elements; i++) {
        Real x[8], y[8], z[8];
        for (int k = 0; k < 8; k++) {
            int c = d.corner[8 * i + k];
            x[k] = d.x[c], y[k] = d.y[c], z[k] = d.z[c];
        }
        Real v = volume(x, y, z), dv = v - d.v[i];
        d.v[i] = v;
        d.q[i] = dv < 0 ? 0.5 * dv * dv : 0;
        d.e[i] -= 0.5 * dv * (d.p[i] + d.q[i]) * dt;
        if (d.e[i] < 1e-3) d.e[i] = 1e-3;
        d.p[i] = 0.6 * d.e[i] / (1 + std::fabs(v));
    }
}
int main(int argc, char **argv) {
    Domain d(argc > 1 ? atoi(argv[1]) : 16);
    std::vector<Real> cx(8 * d.elements), cy(8 * d.elements), cz(8 * d.elements);
    int steps = 10 * (argc > 2 ? atoi(argv[2]) : 1);
    for (int s = 0; s < steps; s++)
        forces(d, cx.data(), cy.data(), cz.data()), move(d, 1e-3), energy(d, 1e-3);
    Real sum = 0;
    for (int i = 0; i < d.elements; i++) sum += d.e[i] + d.p[i];
    printf("%.9e\n", sum);
}
