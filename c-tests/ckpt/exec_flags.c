/* Descriptors of every kind, and whether each closes itself at an exec, after regions in which something may
   happen. argv: a file, regions. */
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int plain = open(argv[1], O_RDWR | O_CREAT, 0600), closes = open(argv[1], O_RDONLY | O_CLOEXEC);
    int all[] = {plain, closes, open("/", O_RDONLY | O_DIRECTORY), dup(plain), open("/dev/null", O_WRONLY),
                 open("/dev/zero", O_RDONLY | O_CLOEXEC), fcntl(plain, F_DUPFD_CLOEXEC, 0)};
    for (int r = 0; r < atoi(argv[2]); r++) {
        double until = omp_get_wtime() + 0.005;
#pragma omp parallel
        while (omp_get_wtime() < until) {}
    }
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        printf("%d: %d %x\n", all[i], fcntl(all[i], F_GETFD), fcntl(all[i], F_GETFL));
    return argc < 3;
}
