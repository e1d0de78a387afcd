/* One long static loop, as NPB's EP has: pseudo-random pairs, counted. PR_FRAGS and PR_SCHE by promp.h.
   Usage: fragments PARTS PR_FRAGS static|dynamic */
#include "../../../c-tests/npb/npb.h"
#include "../../../include/promp.h"

int main(int argc, char **argv) {
    if (argc != 4) return 64;
    long parts = atol(argv[1]), inside = 0;
    promp_frags(atoi(argv[2]));
    promp_recompute(argv[3][0] == 's' ? PROMP_STATIC : PROMP_DYNAMIC);
#pragma omp parallel for schedule(static) reduction(+ : inside)
    for (long part = 0; part < parts; part++) {
        uint64_t x = npb_mul(271828183, npb_pow(NPB_A, (uint64_t)part * 2048));
        for (int i = 0; i < 1024; i++) {
            double a = npb_rand(&x), b = npb_rand(&x);
            inside += a * a + b * b <= 1.0;
        }
    }
    printf("inside %ld\n", inside);
    return 0;
}
