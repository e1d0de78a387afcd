/* Changes a block of memory again and again, then takes more and changes that, and so on: argv = MiB of each part. Before it takes more it lets
 * checkpoints of what it has be taken. Every byte looked at counts the passes: whether all do in the end tells if a change was lost. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) void promp_potential_ckpt(void);

int main(int argc, char **argv) {
    size_t bytes = 0, lost = 0;
    unsigned char *m = NULL, passes = 0;
    for (int part = 1; part < argc; part++) {
        size_t more = (size_t)atol(argv[part]) << 20;
        m = realloc(m, more);
        if (!m) return 1;
#pragma omp parallel for
        for (size_t i = bytes; i < more; i += 64) m[i] = passes;
        bytes = more;
        for (int time = 0; time < 4; time++) {
            double end = omp_get_wtime() + 0.25;
            do {
                passes++;
#pragma omp parallel for schedule(static, 4096)
                for (size_t i = 0; i < bytes; i += 64) m[i]++;
            } while (omp_get_wtime() < end);
            if (promp_potential_ckpt) promp_potential_ckpt();
        }
    }
#pragma omp parallel for reduction(+ : lost)
    for (size_t i = 0; i < bytes; i += 64) lost += m[i] != passes;
    printf("%s\n", lost ? "changes are lost" : "all changes are there");
    return lost != 0;
}
