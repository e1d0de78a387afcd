/* undone KIND STEPS FOLDER: each step does something that nothing undoes: renameat2 with RENAME_WHITEOUT,
   openat2 with RESOLVE_IN_ROOT, output to a pipe past write(2), io_uring, messages and memory of System V,
   a message queue. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long act(const char *kind) {
    struct iovec part = {"out\n", 4};
    char params[256] = {0};
    int own[2], file = open("/proc/self/exe", O_RDONLY);
    pipe(own);
    write(own[1], "out\n", 4);
    long r = -1;
    if (!strcmp(kind, "whiteout")) {
        close(open("from", O_CREAT | O_WRONLY, 0644)), unlink("to");
        r = renameat2(AT_FDCWD, "from", AT_FDCWD, "to", RENAME_WHITEOUT);
    } else if (!strcmp(kind, "root")) {
        struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0644, .resolve = RESOLVE_IN_ROOT};
        r = syscall(SYS_openat2, AT_FDCWD, "/file", &how, sizeof how);
    } else if (!strcmp(kind, "sendfile")) r = sendfile(1, file, NULL, 4);
    else if (!strcmp(kind, "splice")) r = splice(own[0], NULL, 1, NULL, 4, 0);
    else if (!strcmp(kind, "tee")) r = tee(own[0], 1, 4, 0);
    else if (!strcmp(kind, "vmsplice")) r = vmsplice(1, &part, 1, 0);
    else if (!strcmp(kind, "pwritev2")) r = pwritev2(1, &part, 1, -1, 0);
    else if (!strcmp(kind, "writev")) r = syscall(SYS_writev, 1, &part, 1);
    // Not known here either: it fails, but who knows what another kernel does.
    else if (!strcmp(kind, "command")) r = 0, fcntl(file, 2000);
    else if (!strcmp(kind, "rings")) r = syscall(425, 4, params);
    else if (!strcmp(kind, "messages")) r = msgget(IPC_PRIVATE, 0600), msgctl(r, IPC_RMID, 0);
    else if (!strcmp(kind, "memory")) r = shmget(IPC_PRIVATE, 4096, 0600), shmctl(r, IPC_RMID, 0);
    else if (!strcmp(kind, "number")) r = syscall(SYS_msgget, IPC_PRIVATE, 0600), msgctl(r, IPC_RMID, 0);
    else if (!strcmp(kind, "queue"))
        r = mq_open("/promp-test", O_CREAT | O_RDWR, 0600, NULL), mq_unlink("/promp-test");
    if (!strcmp(kind, "rings") || !strcmp(kind, "queue")) close(r);
    close(own[0]), close(own[1]), close(file);
    return r;
}

int main(int argc, char **argv) {
    int steps = argc > 3 ? atoi(argv[2]) : 0;
    if (!steps || chdir(argv[3])) return 2;
    double sum = 0;
    for (int step = 1; step <= steps; step++) {
        if (act(argv[1]) < 0) {
            fprintf(stderr, "not here: %s\n", strerror(errno));
            return 77;
        }
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
    }
    return sum > 0 ? 0 : 1;
}
