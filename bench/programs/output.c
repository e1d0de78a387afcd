/* What it takes to send output.
     output BYTES TIMES [stream]   writes of so many bytes by write(2), or by a libc stream with a buffer of 64 KiB */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
    long times = argc > 2 ? atol(argv[2]) : 200000;
    int stream = argc > 3;
    char *text = malloc(size);
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100000; i++) sum += i;
    if (stream) setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    double began = omp_get_wtime();
    for (long i = 0; i < times; i++) {
        memset(text, 'a' + (int)(i % 26), size);
        text[size - 1] = '\n';
        if (stream) {
            fwrite(text, 1, size, stdout);
            continue;
        }
        for (size_t done = 0; done < size;) {
            ssize_t n = write(1, text + done, size - done);
            if (n <= 0) return 1;
            done += (size_t)n;
        }
    }
    fflush(stdout);
    fprintf(stderr, "%.3f us for %zu bytes\n", (omp_get_wtime() - began) / times * 1e6, size);
    return sum < 0;
}
