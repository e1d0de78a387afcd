/* Changes a block of memory again and again for some seconds, then takes more and changes that: argv = MiB at first, MiB in the end, seconds of each.
 * The sum of all bytes tells whether any change was lost. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    if (argc != 4) return 64;
    size_t first = (size_t)atol(argv[1]) << 20, last = (size_t)atol(argv[2]) << 20;
    double seconds = atof(argv[3]);
    size_t bytes = 0, sum = 0, want = 0;
    unsigned char *m = NULL;
    for (int part = 0; part < 2; part++) {
        size_t more = part ? last : first;
        m = realloc(m, more);
        if (!m) return 1;
#pragma omp parallel for
        for (size_t i = bytes; i < more; i += 64) m[i] = 0;
        bytes = more;
        double end = omp_get_wtime() + seconds;
        for (int pass = 0; pass < 4 || omp_get_wtime() < end; pass++) {
#pragma omp parallel for schedule(static, 4096)
            for (size_t i = 0; i < bytes; i += 64) m[i] += pass < 4;
        }
        want += part ? 4 * (last / 64) : 4 * (first / 64);
    }
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < bytes; i += 64) sum += m[i];
    printf("%s\n", sum == want ? "all changes are there" : "changes are lost");
    return sum != want;
}
