/* NPB EP, "embarrassingly parallel": pairs of Gaussian deviates by the Marsaglia polar method, counted by annulus. */
#include "npb.h"

#define BLOCK_LOG 16
#define BLOCK (1 << BLOCK_LOG)

int main(int argc, char **argv) {
    char class = npb_class(argc, argv);
    static const struct { char class; int m; double sx, sy; } classes[] = {
        {'S', 24, -3.247834652034740e3, -6.958407078382297e3},
        {'W', 25, -2.863319731645753e3, -6.320053679109499e3},
        {'A', 28, -4.295875165629892e3, -1.580732573678431e4},
        {'B', 30, 4.033815542441498e4, -2.660669192809235e4},
    };
    size_t c = 0;
    while (c < 4 && classes[c].class != class) c++;
    if (c == 4) return 2;
    long blocks = 1L << (classes[c].m - BLOCK_LOG);
    double sx = 0, sy = 0;
    long q[10] = {0};
    /* One block of pairs is one iteration; its part of the sums goes to an array, so that the sum does not depend on who
       computed it, and the block can be computed again. */
    double(*part)[2] = malloc(sizeof(double[2]) * blocks);
    long(*count)[10] = malloc(sizeof(long[10]) * blocks);
    PARALLEL_LOOP()
    for (long b = 0; b < blocks; b++) {
        uint64_t x = npb_mul(271828183, npb_pow(NPB_A, 2 * (uint64_t)b * BLOCK));
        double bx = 0, by = 0;
        long n[10] = {0};
        for (int i = 0; i < BLOCK; i++) {
            double u = 2 * npb_rand(&x) - 1, v = 2 * npb_rand(&x) - 1, t = u * u + v * v;
            if (t <= 1) {
                double f = sqrt(-2 * log(t) / t), gx = u * f, gy = v * f;
                n[(int)fmax(fabs(gx), fabs(gy))]++;
                bx += gx, by += gy;
            }
        }
        part[b][0] = bx, part[b][1] = by;
        for (int k = 0; k < 10; k++) count[b][k] = n[k];
    }
    for (long b = 0; b < blocks; b++) {
        sx += part[b][0], sy += part[b][1];
        for (int k = 0; k < 10; k++) q[k] += count[b][k];
    }
    printf("sums %.15e %.15e\n", sx, sy);
    for (int k = 0; k < 10; k++) printf("count %d %ld\n", k, q[k]);
    free(part), free(count);
    return npb_verdict("EP", class, npb_close(sx, classes[c].sx, 1e-8) && npb_close(sy, classes[c].sy, 1e-8));
}
