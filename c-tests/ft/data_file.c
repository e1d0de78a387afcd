/* Writes numbers to a file of its own while regions are executed, and says on standard output what the file's
   descriptor is.
     data_file FILE HOW [ROUNDS [count]]
   HOW: opened (as the first file: descriptor 2 where that was closed before), closed (descriptor 2 is closed
   here, then the file is opened), moved (to descriptor 2, by dup2), kept (opened; 2 stays what it was).
   count: the file has one number, which is read, and written anew, in each round; and printed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3) return 3;
    if (!strcmp(argv[2], "closed")) close(2);
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (!strcmp(argv[2], "moved")) fd = dup2(fd, 2);
    int rounds = argc > 3 ? atoi(argv[3]) : 20;
    double s = 0, count = 0;
    for (int k = 0; k < rounds; k++) {
#pragma omp parallel for num_threads(2) reduction(+ : s)
        for (int i = 0; i < 100000; i++) s += i ^ k;
        if (argc > 4) {
            if (pread(fd, &count, sizeof count, 0) < 0) return 4;
            count++;
            pwrite(fd, &count, sizeof count, 0);
        } else {
            dprintf(fd, "%d\n", k);
        }
        if (rounds > 100) usleep(1000);
    }
    printf("%d %.0f %.0f\n", fd, s, count);
}
