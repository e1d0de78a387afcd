/* guards_locked STEPS: guard pages (MADV_GUARD_INSTALL) in memory that is locked and unlocked: what was said
   first holds. In each step it looks whether all is as it has been set. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGES = 64, BYTES = 4096, INSTALL = 102, REMOVE = 103, FIRST = 8, N = 4 };
enum { UNLOCKED, LOCKED, ON_FAULT };
static char *m;
static int locked, guards;

static int is_guard(int page) {
    char byte;
    struct iovec to = {&byte, 1}, from = {m + page * BYTES, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1;
}

/* Is all of it? -1: parts of it. */
static int is_locked(void) {
    char line[256];
    int found = -1, in = 0;
    unsigned long a, b, from = (unsigned long)m;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2) in = a < from + PAGES * BYTES && from < b;
        if (!in || strncmp(line, "VmFlags:", 8)) continue;
        int now = strstr(line, " lf") ? ON_FAULT : strstr(line, " lo") ? LOCKED : UNLOCKED;
        if (found >= 0 && now != found) return fclose(f), -1;
        found = now;
    }
    fclose(f);
    return found;
}

static int change(int step) {
    int on_fault = step / 40 % 2 == 0;
    switch (step % 40) {
    case 0: guards = 1; return madvise(m + FIRST * BYTES, N * BYTES, INSTALL);
    /* Where there are guards not all of it can be made present: that is said, and it is locked. */
    case 10: locked = on_fault ? ON_FAULT : LOCKED; mlock2(m, PAGES * BYTES, on_fault); return 0;
    case 20: guards = 0; return madvise(m + FIRST * BYTES, N * BYTES, REMOVE);
    case 30: locked = UNLOCKED; return munlock(m, PAGES * BYTES);
    }
    return 0;
}

static int look(int step) {
    for (int p = 0; p < PAGES; p++) {
        int in = p >= FIRST && p < FIRST + N, should = p == 0 || (in && guards);
        if (is_guard(p) != should) return printf("page %d: guard %d in step %d\n", p, !should, step), 0;
        if (p == 0 || in) continue;
        char want = step ? step - 1 + p : 0;
        if (m[p * BYTES] != want) return printf("page %d has %d in step %d\n", p, m[p * BYTES], step), 0;
        m[p * BYTES] = step + p;
    }
    if (is_locked() != locked) return printf("locked %d, not %d in step %d\n", is_locked(), locked, step), 0;
    return 1;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    double sum = 0;
    m = mmap(0, PAGES * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return 1;
    if (madvise(m, BYTES, INSTALL) || !is_guard(0) || mlock2(m, PAGES * BYTES, MLOCK_ONFAULT))
        return puts("not here"), 77;
    munlock(m, PAGES * BYTES);
    for (int step = 0; step < steps; step++) {
        if (change(step)) return printf("refused in step %d\n", step), 1;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
        if (!look(step)) return 1;
    }
    puts(sum > 0 ? "kept" : "another end");
    return 0;
}
