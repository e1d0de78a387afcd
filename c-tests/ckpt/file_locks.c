/* Locks of files, by all means there are, taken and given back between regions: file_locks STEPS FOLDER.
   Before and after each step somebody else looks what is locked. A third argument: `lease` takes one, `keep`
   one lock for all the time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[3][4096];
static int whole, part, own;

/* What a child of ours, which has none of our locks, gets: a letter a place. */
static void seen(char *what)
{
    int ends[2];
    if (pipe(ends)) exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        char found[5] = "....";
        int fd = open(name[0], O_RDWR);
        if (flock(fd, LOCK_EX | LOCK_NB)) found[0] = flock(fd, LOCK_SH | LOCK_NB) ? 'W' : 'R';
        struct {
            int file;
            off_t at;
        } places[3] = {{1, 15}, {1, 1000}, {2, 7}};
        for (int i = 0; i < 3; i++) {
            struct flock l = {.l_type = F_WRLCK, .l_start = places[i].at, .l_len = 1};
            fd = open(name[places[i].file], O_RDWR);
            if (fcntl(fd, F_OFD_GETLK, &l)) found[i + 1] = '?';
            else if (l.l_type != F_UNLCK) found[i + 1] = l.l_type == F_WRLCK ? 'W' : 'R';
        }
        _exit(write(ends[1], found, 5) != 5);
    }
    close(ends[1]);
    if (read(ends[0], what, 5) != 5) exit(1);
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

static void range(int fd, int command, short type, off_t start, off_t length)
{
    struct flock l = {.l_type = type, .l_start = start, .l_len = length};
    if (fcntl(fd, command, &l)) perror("fcntl");
}

int main(int argc, char **argv)
{
    int steps = atoi(argv[1]), wrong = 0;
    for (int i = 0; i < 3; i++) snprintf(name[i], sizeof name[i], "%s/%d", argv[2], i);
    whole = open(name[0], O_RDWR | O_CREAT, 0600);
    part = open(name[1], O_RDWR | O_CREAT, 0600);
    own = open(name[2], O_RDWR | O_CREAT, 0600);
    if (argc > 3 && strcmp(argv[3], "lease") == 0 && fcntl(whole, F_SETLEASE, F_WRLCK)) perror("F_SETLEASE");
    if (argc > 3 && strcmp(argv[3], "keep") == 0 && flock(whole, LOCK_EX)) perror("flock");
    long sum = 0;
    for (int step = 0; step < steps; step++) {
        char want[5] = "....", found[5];
        if (argc < 4) {
            flock(whole, step % 3 == 0 ? LOCK_UN : step % 3 == 1 ? LOCK_SH : LOCK_EX);
            want[0] = ".RW"[step % 3];
            range(part, F_OFD_SETLK, step % 2 ? F_WRLCK : F_UNLCK, 10, 10);
            want[1] = ".W"[step % 2];
            range(part, F_OFD_SETLK, step % 5 ? F_RDLCK : F_UNLCK, 100, 0);
            want[2] = step % 5 ? 'R' : '.';
            range(own, F_SETLK, step % 4 ? F_WRLCK : F_UNLCK, 7, 1);
            want[3] = step % 4 ? 'W' : '.';
        }
        for (int again = 0; again < 3; again++) {
            if (argc < 4) seen(found);
            if (argc < 4 && strcmp(found, want)) wrong++, printf("step %d: %s, not %s\n", step, found, want);
#pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 400000; i++) sum += i % (step + again + 2);
        }
    }
    printf("%ld, %d wrong\n", sum, wrong);
}
