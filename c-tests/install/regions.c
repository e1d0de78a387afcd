/* Regions one behind the other; prints sums, and the runtimes that are in it if there is an argument. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    long sum = 0;
    for (int r = 0; r < 150; r++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += (long)i * r % 7;
        usleep(500);
        if (r % 50 == 49) printf("%d %ld\n", r, sum), fflush(stdout);
    }
    char line[4096];
    FILE *maps = argc > 1 ? fopen("/proc/self/maps", "r") : NULL;
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "r-xp") && (strstr(line, "libpromp") || strstr(line, "libgomp")))
            fputs(strchr(line, '/'), stderr);
    return 0;
}
