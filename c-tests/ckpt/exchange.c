/* Somebody else: user argv[1] lets the names argv[2] and argv[3] change places, again and again, and
   counts in the file argv[4], until its standard input ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 5) return 64;
    unsigned user = (unsigned)atoi(argv[1]);
    int fd = open(argv[4], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 8)) return 1;
    volatile uint64_t *count = mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (count == MAP_FAILED || setgroups(0, 0) || setgid(user) || setuid(user)) return 2;
    uint64_t state = 1;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) == 0) {
        if (renameat2(AT_FDCWD, argv[2], AT_FDCWD, argv[3], RENAME_EXCHANGE)) {
            perror("renameat2");
            return 3;
        }
        ++*count;
        /* Pauses of all lengths: from none to some thousand system calls. */
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned draw = (unsigned)(state >> 33), length = 1u << draw % 22;
        if (length > 64) nanosleep(&(struct timespec){.tv_nsec = length + draw / 64 % length}, 0);
    }
    return 0;
}
