/* noted KIND STEPS FOLDER: what a step does to files, by calls whose flags or numbers say more than their
   names, the next step finds: no more, no less. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCK = 4096 };
static const char *kind;
static char block[BLOCK];

static int is(const char *k) { return !strcmp(kind, k); }

static void stop(const char *what, int step) {
    int why = errno;
    if (why == EOPNOTSUPP || why == ENOSYS || (why == EINVAL && step < 3)) exit((puts("not here"), 77));
    exit((printf("step %d: %s: %s\n", step, what, strerror(why)), 1));
}

static void must(int holds, const char *what, int step) {
    if (!holds) exit((printf("step %d finds another %s\n", step, what), 1));
}

static int first(int fd) {
    int k = -1;
    return pread(fd, &k, sizeof k, 0) == sizeof k ? k : -1;
}

/* One word at the file's beginning is overwritten by a descriptor that was opened to append. */
static void overwrite(int step) {
    int fd = open("file", O_RDWR | O_APPEND | (step == 1 ? O_CREAT : 0), 0644);
    if (step == 1) write(fd, block, BLOCK);
    must(first(fd) == step - 1, "word", step);
    if (is("fcntl")) {
        if (fcntl(fd, F_SETFL, 0)) stop("fcntl", step);
        pwrite(fd, &step, sizeof step, 0);
    } else if (is("memory")) {
        int *at = mmap(0, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) stop("mmap", step);
        *at = step;
        munmap(at, BLOCK);
    } else {
        struct iovec part = {&step, sizeof step};
        if (syscall(SYS_pwritev2, fd, &part, 1, 0L, 0L, 0x20) != sizeof step) stop("pwritev2", step);
    }
    close(fd);
}

/* A block is appended, and the first one taken away: by a descriptor that was opened to append. */
static void allocate(int step) {
    int fd = open("file", O_RDWR | O_APPEND | (step == 1 ? O_CREAT : 0), 0644);
    int last = is("collapse") ? 0 : step - 1;
    if (step == 1) write(fd, block, BLOCK);
    int k = -1;
    pread(fd, &k, sizeof k, (off_t)last * BLOCK);
    must(k == step - 1, "block", step);
    memcpy(block, &step, sizeof step);
    if (write(fd, block, BLOCK) != BLOCK) stop("write", step);
    int mode = is("collapse") ? FALLOC_FL_COLLAPSE_RANGE
               : is("punch")  ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
                              : FALLOC_FL_ZERO_RANGE;
    if (fallocate(fd, mode, (off_t)last * BLOCK, BLOCK)) stop("fallocate", step);
    close(fd);
}

/* One of four names that are this folder's alone. */
static void name_of(char name[40], int step) {
    struct stat here;
    stat(".", &here);
    snprintf(name, 40, "/promp-%lx-%d", (long)here.st_ino, step % 4);
}

static void clear(void) {
    char name[40];
    for (int i = 0; i < 4; i++) {
        name_of(name, i);
        shm_unlink(name), sem_unlink(name), unlink(name + 1);
    }
}

/* Names that must not be there yet. */
static void make(int step) {
    char name[40], old[40];
    name_of(name, step);
    name_of(old, step + 2);
    int r = 0;
    if (is("shared")) {
        shm_unlink(old);
        r = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
        close(r);
    } else if (is("semaphore")) {
        sem_unlink(old);
        sem_t *s = sem_open(name, O_CREAT | O_EXCL, 0600, 3);
        r = s == SEM_FAILED ? -1 : sem_close(s);
    } else {
        unlink(old + 1);
        r = step % 2 ? mkfifo(name + 1, 0600) : mknod(name + 1, S_IFREG | 0600, 0);
    }
    if (r < 0) stop(name, step);
}

/* By number: a new version takes the old one's place by way of a link. */
static void number(int step) {
    int fd = syscall(SYS_open, "now", O_RDONLY);
    must((step == 1 && fd < 0) || first(fd) == step - 1, "version", step);
    close(fd);
    fd = syscall(SYS_openat, AT_FDCWD, "new", O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0) stop("openat", step);
    write(fd, &step, sizeof step);
    close(fd);
    if (syscall(SYS_mkdir, "folder", 0755) || syscall(SYS_link, "new", "folder/x")) stop("link", step);
    syscall(SYS_unlink, "now");
    if (syscall(SYS_rename, "folder/x", "now") || syscall(SYS_unlinkat, AT_FDCWD, "folder", AT_REMOVEDIR))
        stop("rename", step);
    syscall(SYS_unlink, "new");
}

static void how(int step) {
    struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0644};
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    int fd = syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof how);
    if (fd < 0) stop("openat2", step);
    must(step == 1 || first(fd) == step - 1, "word", step);
    pwrite(fd, &step, sizeof step, 0);
    close(fd);
}

static void reopen(int step) {
    int k = 0;
    FILE *f = fopen("file", step == 1 ? "w+" : "r");
    if (step > 1) must(fscanf(f, "%d", &k) == 1 && k == step - 1, "text", step);
    f = freopen(NULL, "w+", f);
    if (!f) stop("freopen", step);
    fprintf(f, "%d\n", step);
    fclose(f);
}

static int links_of(const char *path, int fd, int how) {
    struct stat s = {0};
    struct statx x = {0};
    switch (how) {
    case 0: return stat(path, &s) ? -1 : (int)s.st_nlink;
    case 1: return lstat(path, &s) ? -1 : (int)s.st_nlink;
    case 2: return fstatat(AT_FDCWD, path, &s, 0) ? -1 : (int)s.st_nlink;
    case 3: return statx(AT_FDCWD, path, 0, STATX_NLINK, &x) ? -1 : (int)x.stx_nlink;
    case 4: return syscall(SYS_fstat, fd, &s) ? -1 : (int)s.st_nlink;
    default: return fstat(fd, &s) ? -1 : (int)s.st_nlink;
    }
}

/* A lock by link(2) is taken and given back: it is held who has two links. A file that is open is removed. */
static void count(int step) {
    if (step == 1) close(open("file", O_CREAT | O_WRONLY, 0644));
    int fd = open("file", O_RDONLY);
    for (int how = 0; how < 6; how++) must(links_of("file", fd, how) == 1, "number of links", step);
    if (link("file", "new")) stop("link", step);
    for (int how = 0; how < 6; how++) must(links_of("new", fd, how) == 2, "number of two links", step);
    unlink("new");
    for (int how = 0; how < 6; how++) must(links_of("file", fd, how) == 1, "number of links again", step);
    close(fd);
    fd = open("now", O_CREAT | O_EXCL | O_RDWR, 0644);
    if (fd < 0) stop("open", step);
    unlink("now");
    must(links_of(0, fd, 4) == 0 && links_of(0, fd, 5) == 0, "number of no links", step);
    close(fd);
}

/* A file without a name gets one, in two ways. */
static void nameless(int step) {
    int fd = open("now", O_RDONLY);
    must((step == 1 && fd < 0) || first(fd) == step - 1, "version", step);
    close(fd);
    fd = open(".", O_TMPFILE | O_RDWR, 0644);
    if (fd < 0) stop("O_TMPFILE", step);
    write(fd, &step, sizeof step);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, AT_FDCWD, "new", AT_SYMLINK_FOLLOW)) stop("linkat", step);
    close(fd);
    if (rename("new", "now")) stop("rename", step);
}

int main(int argc, char **argv) {
    int steps = argc > 3 ? atoi(argv[2]) : 0;
    if (!steps || (mkdir(argv[3], 0755) && errno != EEXIST) || chdir(argv[3])) return 2;
    kind = argv[1];
    double sum = 0;
    const char *left[] = {"file", "now", "new", "folder/x"};
    for (int i = 0; i < 4; i++) unlink(left[i]);
    rmdir("folder");
    clear();
    for (int step = 1; step <= steps; step++) {
        if (is("fcntl") || is("memory") || is("pwritev2")) overwrite(step);
        else if (is("collapse") || is("punch") || is("zero")) allocate(step);
        else if (is("shared") || is("semaphore") || is("nodes")) make(step);
        else if (is("number")) number(step);
        else if (is("openat2")) how(step);
        else if (is("reopen")) reopen(step);
        else if (is("nameless")) nameless(step);
        else if (is("links")) count(step);
        else return 2;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
    }
    clear();
    puts(sum > 0 ? "kept" : "another end");
    return 0;
}
