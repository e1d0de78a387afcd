// Members of structures side by side, which are saved in one piece: in front of loops, upwards and downwards,
// in rows, of different sizes, with gaps between them, and in functions that save for themselves.
#include <math.h>
#include <stdio.h>

enum { N = 400, M = 24 };
struct body { double x, y, z; float w; int n; };
struct pair { double re, im; };

static struct body body[N];
static struct pair grid[N][M], line[N + 2];
static double plain[N * 4];

static void bodies(int r) {
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 400; k++) body[i].x = sqrt(body[i].x * body[i].x + r) * 0.75;
        body[i].y = body[i].y * 0.5 + body[i].x;
        body[i].z = body[i].z * 0.25 + body[i].y;
        body[i].n = body[i].n * 3 + i;
        body[i].w = body[i].w * 0.5f + body[i].n % 7;
    }
}

static void rows(int r) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
        double s = 0;
        for (int k = 0; k < 400; k++) s = sqrt(s + grid[i][k % M].re * grid[i][k % M].re);
        for (int k = M - 1; k >= 0; k--) {
            grid[i][k].im = grid[i][k].im * 0.5 + s;
            grid[i][k].re = grid[i][k].re * 0.75 + grid[i][k].im * 0.125 + r;
        }
    }
}

// Elements of one step that lie over those of the next.
static void over(int r) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            plain[i * 4 + k] = plain[i * 4 + k] * 0.5 + r;
            plain[i * 4 + k + 1] = plain[i * 4 + k + 1] * 0.75 + plain[i * 4 + k];
        }
}

__attribute__((noinline)) static void turn(struct pair *p, int n, double c) {
    for (int k = 0; k < n; k++) {
        double re = p[k].re * c - p[k].im * 0.25;
        p[k].im = p[k].im * c + p[k].re * 0.25;
        p[k].re = re;
    }
}

static void turned(int r) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < N; i++) {
        for (int q = 0; q < 20; q++) turn(grid[i], M, 0.75 + 0.001 * (r + q));
        line[i].re += grid[i][1].im;
    }
}

int main(void) {
    for (int i = 0; i < N; i++) {
        body[i] = (struct body){ i, i % 7, i % 5, i % 3, i };
        for (int k = 0; k < M; k++) grid[i][k].re = i % 17 + k, grid[i][k].im = i % 5 * 0.5;
    }
    for (int r = 0; r < 60; r++) bodies(r), rows(r), over(r), turned(r);
    double s = 0;
    for (int i = 0; i < N; i++) {
        s = s * 0.999 + body[i].x + body[i].y + body[i].z + body[i].w + body[i].n % 1000 + line[i].re;
        for (int k = 0; k < M; k++) s = s * 0.999 + grid[i][k].re + grid[i][k].im * 0.5;
        for (int k = 0; k < 4; k++) s = s * 0.999 + plain[i * 4 + k];
    }
    printf("%.17g\n", s);
    return 0;
}
