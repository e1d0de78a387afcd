/* mapped STEPS KIND: memory that is mapped in an unusual way, written to and looked at in each step: `secret`
   (memfd_secret(2)), `droppable` (the kernel may drop its content), `down` (it grows
   downwards). With "more" in KIND it is mapped in step 100, behind the first checkpoints. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 32, ROOM = 16384, DROPPABLE = 8, SECRET = 447 };
enum { ALL = PROT_READ | PROT_WRITE, OWN = MAP_PRIVATE | MAP_ANONYMOUS };
static unsigned char *first, *end;

static int make(const char *kind) {
    size_t len = PAGES * PAGE, room_len = (size_t)ROOM * PAGE;
    if (!strncmp(kind, "secret", 6)) {
        int fd = syscall(SECRET, 0);
        if (fd < 0 || ftruncate(fd, len)) return 0;
        first = mmap(NULL, len, ALL, MAP_SHARED, fd, 0);
    } else if (!strncmp(kind, "droppable", 9)) {
        first = mmap(NULL, len, ALL, MAP_ANONYMOUS | DROPPABLE, -1, 0);
    } else {
        /* Below it is room. */
        char *room = mmap(NULL, room_len, PROT_NONE, OWN | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED || munmap(room, room_len)) return 0;
        first = mmap(room + room_len - len, len, ALL, OWN | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0);
    }
    end = first + len;
    return first != MAP_FAILED;
}

static unsigned char byte(const unsigned char *page, int step) {
    return 1 + ((end - page) / PAGE * 7 + step) % 250;
}

/* Is it what the kernel calls so? */
static int is(const char *flag) {
    char line[256];
    unsigned long a, b, at = (unsigned long)end - 1;
    int in = 0, found = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2) in = a <= at && at < b;
        if (in && !strncmp(line, "VmFlags:", 8)) found = strstr(line, flag) != NULL;
    }
    return fclose(f) == 0 && found;
}

static int look(int step, int drops) {
    for (unsigned char *p = first; p < end; p += PAGE) {
        unsigned char now = p[step % 100];
        if (now == byte(p, step - 1) || (drops && !now)) continue;
        printf("page %ld has %d in step %d\n", (long)(end - p) / PAGE, now, step);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    const char *kind = argc > 2 ? argv[2] : "down";
    int begins = strstr(kind, "more") && steps > 100 ? 100 : 0, drops = !strncmp(kind, "droppable", 9);
    int grows = !strncmp(kind, "down", 4);
    double sum = 0;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
        if (step < begins) continue;
        if (!first && !make(kind)) return puts("not here"), 77;
        if (step > begins && !look(step, drops)) return 1;
        if (grows && step % 3 == 0) first -= PAGE;
        for (unsigned char *p = first; p < end; p += PAGE) p[(step + 1) % 100] = byte(p, step);
        if (step % 20 == 0 && ((drops && !is(" dp")) || (grows && !is(" gd"))))
            return printf("another kind in step %d\n", step), 1;
    }
    puts(sum > 0 ? "kept" : "another end");
    return 0;
}
