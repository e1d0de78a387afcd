/* NPB FT: a partial differential equation by forward and inverse 3-D fast Fourier transforms.
   Every pass writes to another array than it reads, so that an iteration can be executed again. */
#include "npb.h"
#include <complex.h>

typedef double complex cplx;

static int nx, ny, nz;

static const double pi = 3.14159265358979323846;

/* One line of length n, in place; sign -1 forward, 1 inverse, unscaled. Radix 2, decimation in time. */
static void fft_line(cplx *a, int n, int sign, const cplx *root, int max) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j |= bit;
        if (i < j) { cplx t = a[i]; a[i] = a[j]; a[j] = t; }
    }
    for (int len = 2; len <= n; len *= 2)
        for (int i = 0; i < n; i += len)
            for (int k = 0; k < len / 2; k++) {
                cplx w = root[(size_t)k * (max / len)];
                if (sign > 0) w = conj(w);
                double xr = creal(a[i + k + len / 2]), xi = cimag(a[i + k + len / 2]);
                cplx t = (xr * creal(w) - xi * cimag(w)) + I * (xr * cimag(w) + xi * creal(w));
                a[i + k + len / 2] = a[i + k] - t;
                a[i + k] += t;
            }
}

static cplx *root;
static int max_n;

/* Transforms along one direction: `n` elements `stride` apart; lines start at outer * big + inner. */
static void pass(const cplx *in, cplx *out, int n, size_t stride, int outer, size_t big, int inner, int sign) {
    LOOP(collapse(2))
    for (int o = 0; o < outer; o++)
        for (int b = 0; b < inner; b += 16) {
            cplx line[512];
            for (int i = b; i < b + 16 && i < inner; i++) {
                size_t base = o * big + (inner == ny && stride == 1 ? (size_t)i * nx : (size_t)i);
                for (int k = 0; k < n; k++) line[k] = in[base + k * stride];
                fft_line(line, n, sign, root, max_n);
                for (int k = 0; k < n; k++) out[base + k * stride] = line[k];
            }
        }
}

/* b = FFT of a; a is overwritten. */
static void fft3(cplx *a, cplx *b, int sign) {
    pass(a, b, nx, 1, nz, (size_t)nx * ny, ny, sign);
    pass(b, a, ny, nx, nz, (size_t)nx * ny, nx, sign);
    pass(a, b, nz, (size_t)nx * ny, ny, nx, nx, sign);
}

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    static const struct { char class; int nx, ny, nz, iterations; double sums[20][2]; } classes[] = {
        {'S', 64, 64, 64, 6,
         {{5.546087004964E+02, 4.845363331978E+02}, {5.546385409189E+02, 4.865304269511E+02},
          {5.546148406171E+02, 4.883910722336E+02}, {5.545423607415E+02, 4.901273169046E+02},
          {5.544255039624E+02, 4.917475857993E+02}, {5.542683411902E+02, 4.932597244941E+02}}},
        {'W', 128, 128, 32, 6,
         {{5.673612178944E+02, 5.293246849175E+02}, {5.631436885271E+02, 5.282149986629E+02},
          {5.594024089970E+02, 5.270996558037E+02}, {5.560698047020E+02, 5.260027904925E+02},
          {5.530898991250E+02, 5.249400845633E+02}, {5.504159734538E+02, 5.239212247086E+02}}},
        {'A', 256, 256, 128, 6,
         {{5.046735008193E+02, 5.114047905510E+02}, {5.059412319734E+02, 5.098809666433E+02},
          {5.069376896287E+02, 5.098144042213E+02}, {5.077892868474E+02, 5.101336130759E+02},
          {5.085233095391E+02, 5.104914655194E+02}, {5.091487099959E+02, 5.107917842803E+02}}},
        {'B', 512, 256, 256, 20,
         {{5.177643571579E+02, 5.077803458597E+02}, {5.154521291263E+02, 5.088249431599E+02},
          {5.146409228649E+02, 5.096208912659E+02}, {5.142378756213E+02, 5.101023387619E+02},
          {5.139626667737E+02, 5.103976610617E+02}, {5.137423460082E+02, 5.105948019802E+02},
          {5.135547056878E+02, 5.107404165783E+02}, {5.133910925466E+02, 5.108576573661E+02},
          {5.132470705390E+02, 5.109577278523E+02}, {5.131197729984E+02, 5.110460304483E+02},
          {5.130070319283E+02, 5.111252433800E+02}, {5.129070537032E+02, 5.111968077718E+02},
          {5.128182883502E+02, 5.112616233064E+02}, {5.127393733383E+02, 5.113203605551E+02},
          {5.126691062020E+02, 5.113735928093E+02}, {5.126064276004E+02, 5.114218460548E+02},
          {5.125504076570E+02, 5.114656139760E+02}, {5.125002331720E+02, 5.115053595966E+02},
          {5.124551951846E+02, 5.115415130407E+02}, {5.124146770029E+02, 5.115744692211E+02}}},
    };
    size_t cl = 0;
    while (cl < 4 && classes[cl].class != class) cl++;
    if (cl == 4) return 2;
    nx = classes[cl].nx, ny = classes[cl].ny, nz = classes[cl].nz;
    size_t total = (size_t)nx * ny * nz;
    max_n = nx > ny ? nx : ny;
    if (nz > max_n) max_n = nz;
    root = malloc(sizeof(cplx) * max_n / 2);
    for (int k = 0; k < max_n / 2; k++) root[k] = cos(2 * pi * k / max_n) - I * sin(2 * pi * k / max_n);
    cplx *u = malloc(sizeof(cplx) * total), *w = malloc(sizeof(cplx) * total), *x = malloc(sizeof(cplx) * total);
    double *factor = malloc(sizeof(double) * total);
    int ok = 1;
#pragma omp parallel
    {
        LOOP()
        for (int k = 0; k < nz; k++) {
            uint64_t seed = npb_mul(314159265, npb_pow(NPB_A, 2 * (uint64_t)k * nx * ny));
            for (size_t i = 0; i < (size_t)nx * ny; i++) {
                double re = npb_rand(&seed), im = npb_rand(&seed);
                w[(size_t)k * nx * ny + i] = re + I * im;
            }
        }
        LOOP()
        for (int k = 0; k < nz; k++)
            for (int j = 0; j < ny; j++)
                for (int i = 0; i < nx; i++) {
                    int a = (i + nx / 2) % nx - nx / 2, b = (j + ny / 2) % ny - ny / 2, d = (k + nz / 2) % nz - nz / 2;
                    factor[((size_t)k * ny + j) * nx + i] = exp(-4e-6 * pi * pi * ((double)a * a + b * b + d * d));
                }
        fft3(w, u, -1);
    }
    for (int it = 1; it <= TIMES * classes[cl].iterations; it++) {
        DEAD(w, sizeof(cplx) * total), DEAD(x, sizeof(cplx) * total);
        PLACE();
#pragma omp parallel
        {
            LOOP()
            for (int k = 0; k < nz; k++)
                for (size_t i = (size_t)k * nx * ny; i < (size_t)(k + 1) * nx * ny; i++) w[i] = u[i] * pow(factor[i], it);
            fft3(w, x, 1);
        }
        cplx sum = 0;
        for (int j = 1; j <= 1024; j++) {
            size_t q = j % nx, r = 3 * j % ny, s = 5 * j % nz;
            sum += x[(s * ny + r) * nx + q];
        }
        sum /= (double)total;
        printf("checksum %d %.12e %.12e\n", it, creal(sum), cimag(sum));
        if (it <= classes[cl].iterations)
            ok &= npb_close(creal(sum), classes[cl].sums[it - 1][0], 1e-12) && npb_close(cimag(sum), classes[cl].sums[it - 1][1], 1e-12);
    }
    return npb_verdict("FT", class, ok);
}
