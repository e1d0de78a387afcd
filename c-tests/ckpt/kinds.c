/* kinds KIND STEPS FOLDER: something of the kernel's is set up before the first step, of which a checkpoint
   may be taken, or not; each step finds it as it was. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1 << 16 };
static const char *kind;
static int fd = -1, into = -1;
static long context;
static char *at;

static int is(const char *k) { return !strcmp(kind, k); }

static void put(const char *name, const char *text) {
    int f = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    write(f, text, strlen(text));
    close(f);
}

static int set_up(void) {
    if (is("path")) put("file", "content"), fd = open("file", O_PATH);
    if (is("path-folder")) mkdir("sub", 0755), fd = open("sub", O_PATH | O_DIRECTORY);
    if (is("path-link")) unlink("link"), symlink("nowhere", "link"), fd = open("link", O_PATH | O_NOFOLLOW);
    if (is("path-gone")) put("gone", "content"), fd = open("gone", O_PATH), unlink("gone");
    if (is("gone")) put("gone", "content"), fd = open("gone", O_RDONLY), unlink("gone");
    if (is("folder-gone")) mkdir("sub", 0755), fd = open("sub", O_RDONLY | O_DIRECTORY), rmdir("sub");
    if (is("linked")) {
        put("one", "content"), unlink("two"), link("one", "two");
        fd = open("one", O_RDWR), unlink("one");
    }
    if (is("scratch")) put("scratch", "content"), fd = open("scratch", O_RDWR), unlink("scratch");
    if (is("owner")) {
        int both[2];
        pipe(both), fd = both[0];
        return fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETSIG, SIGURG);
    }
    if (is("notify")) {
        signal(SIGIO, SIG_IGN);
        return fcntl(fd = open(".", O_RDONLY), F_NOTIFY, DN_CREATE | DN_MULTISHOT);
    }
    if (is("namespace")) fd = open("/proc/self/ns/mnt", O_RDONLY);
    if (is("fifo")) unlink("fifo"), mkfifo("fifo", 0600), fd = open("fifo", O_RDWR), write(fd, "content", 7);
    if (is("room") || is("holds") || is("wide")) {
        int both[2];
        pipe2(both, O_NONBLOCK), fd = both[0], into = both[1];
        if (!is("room")) write(into, "content", 7);
        if (!is("holds")) return fcntl(fd, F_SETPIPE_SZ, 1 << 18) < 0;
    }
    if (is("status")) fd = open("/proc/self/status", O_RDONLY);
    if (is("zero")) {
        fd = open("/dev/zero", O_RDWR);
        at = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        close(fd);
    }
    int huge = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE;
    if (is("huge")) at = mmap(0, 2 << 20, PROT_READ, huge, -1, 0);
    if (is("mapped-gone")) {
        put("gone", "content"), fd = open("gone", O_RDONLY);
        at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        close(fd), unlink("gone");
    }
    if (is("aio")) return syscall(SYS_io_setup, 8, &context);
    return at == MAP_FAILED || (!at && fd < 0) ? -1 : 0;
}

static int same(int step) {
    char text[16] = "", path[32];
    struct stat s;
    if (is("path") || is("path-folder") || is("path-gone") || is("path-link"))
        return fcntl(fd, F_GETFL) & O_PATH && !fstat(fd, &s) &&
               (is("path-folder") ? S_ISDIR(s.st_mode)
                : is("path-link") ? S_ISLNK(s.st_mode)
                                  : s.st_size == 7);
    if (is("owner")) return fcntl(fd, F_GETOWN) == getpid() && fcntl(fd, F_GETSIG) == SIGURG;
    if (is("notify")) return fcntl(fd, F_GETOWN) == getpid();
    if (is("gone")) return pread(fd, text, 8, 0) == 7 && !strcmp(text, "content");
    if (is("linked")) {
        if (pwrite(fd, &step, sizeof step, 0) != sizeof step) return 0;
        int there = open("two", O_RDONLY), k = 0;
        read(there, &k, sizeof k), close(there);
        return k == step;
    }
    if (is("scratch")) { /* removed again and again: the journal keeps it */
        int k = step - 1;
        if (step > 1 && (pread(fd, &k, sizeof k, 0) != sizeof k || k != step - 1)) return 0;
        put("scratch", "content"), close(fd), fd = open("scratch", O_RDWR), unlink("scratch");
        return pwrite(fd, &step, sizeof step, 0) == sizeof step;
    }
    if (is("fifo")) return read(fd, text, 8) == 7 && !strcmp(text, "content") && write(fd, text, 7) == 7;
    if (is("room") || is("holds") || is("wide")) { /* so much more it takes without waiting */
        static char much[1 << 18];
        int room = is("holds") ? 1 << 16 : 1 << 18, held = is("room") ? 0 : 7;
        if (fcntl(fd, F_GETPIPE_SZ) != room || write(into, much, room - 4096) != room - 4096) return 0;
        if (read(fd, much, room) != held + room - 4096 || memcmp(much, "content", held)) return 0;
        memset(much, 0, held);
        return write(into, "content", held) == held;
    }
    if (is("status")) return pread(fd, text, 5, 0) == 5 && !strncmp(text, "Name:", 5);
    if (is("zero") || is("mapped-gone")) {
        int k = step == 1 ? 0 : step - 1, *words = (int *)at;
        if (words[100] != k || (is("mapped-gone") && memcmp(at, "content", 7))) return 0;
        words[100] = step;
    }
    if (is("aio")) return !syscall(SYS_io_getevents, context, 0, 1, text, &(struct timespec){0, 0});
    return 1;
}

int main(int argc, char **argv) {
    int steps = argc > 3 ? atoi(argv[2]) : 0;
    if (!steps || (mkdir(argv[3], 0755) && errno != EEXIST) || chdir(argv[3])) return 2;
    kind = argv[1];
    if (set_up()) return printf("not here: %s\n", strerror(errno)), 77;
    double sum = 0;
    for (int step = 1; step <= steps; step++) {
        if (!same(step)) return printf("step %d: it is another one\n", step), 1;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
    }
    puts(sum > 0 ? "kept" : "another end");
    return 0;
}
