/* Programs whose state cannot be saved: argv[1] says what they have. They go on, and print "done". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/inotify.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *idle(void *p) {
    for (;;) pause();
    return p;
}
/* Waits for a lock that another description of the file has: whoever has it may be anybody. */
static void *for_a_lock(void *p) {
    char name[32];
    int first = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    snprintf(name, sizeof name, "/proc/self/fd/%d", first);
    int second = open(name, O_RDWR);
    if (first < 0 || second < 0 || flock(first, LOCK_EX)) abort();
    flock(second, LOCK_EX);
    return p;
}
/* Made without libc: nothing but system calls. */
static int asleep(void *p) {
    (void)p;
    for (;;) syscall(SYS_pause);
    return 0;
}
static sem_t *semaphore;
static int held;
/* The other one ends. */
static void let_file_go(void) {
    if (ftruncate(held, 8192)) abort();
}
static void remove_name(void) {
    char name[32];
    snprintf(name, sizeof name, "/promp-%d", getpid());
    sem_unlink(name);
}
static void let_go(void) { sem_post(semaphore); }
int main(int argc, char **argv) {
    const char *what = argv[1];
    int fds[2];
    if (!strcmp(what, "thread")) {
        pthread_t t;
        pthread_create(&t, NULL, for_a_lock, NULL);
    } else if (!strcmp(what, "blocks")) { /* without libc: its own calls leave the runtime's signals out */
        pthread_t t;
        uint64_t all = ~0ull, old;
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
        pthread_create(&t, NULL, idle, NULL);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
    } else if (!strcmp(what, "clone")) {
        static char stack[65536] __attribute__((aligned(64)));
        clone(asleep, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
    } else if (!strcmp(what, "socket")) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) return 1;
    } else if (!strcmp(what, "queue")) {
        char name[32];
        snprintf(name, sizeof name, "/promp-%d", getpid());
        mqd_t q = mq_open(name, O_RDWR | O_CREAT, 0600, NULL);
        mq_unlink(name);
        if (q < 0) return 1;
    } else if (!strcmp(what, "pipe")) {
        if (pipe2(fds, O_DIRECT) || write(fds[1], "unread", 6) != 6) return 1;
    } else if (!strcmp(what, "shared")) {
        int id = shmget(IPC_PRIVATE, 4096, 0600);
        *(int *) shmat(id, NULL, 0) = 1;
        if (shmctl(id, IPC_RMID, NULL)) return 1;
    } else if (!strcmp(what, "held")) { /* a file that another one, who is no child, has open */
        char name[] = "/tmp/promp-held-XXXXXX";
        int fd = mkstemp(name);
        if (fd < 0 || unlink(name) || ftruncate(fd, 4096)) return 1;
        int *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        pid_t child = fork();
        if (!child) {
            if (fork()) _exit(0);
            munmap(at, 4096);
            if (dup2(fd, 0)) _exit(1);
            closefrom(1);
            time_t end = time(NULL) + 60;
            char more;
            while (time(NULL) < end && !pread(0, &more, 1, 4096)) usleep(10000);
            _exit(0);
        }
        if (waitpid(child, NULL, 0) != child) return 1;
        held = fd;
        atexit(let_file_go);
    } else if (!strcmp(what, "large")) { /* more than PROMP_CKPT_FILES allows, and without a name */
        char name[] = "/tmp/promp-large-XXXXXX";
        int fd = mkstemp(name);
        if (fd < 0 || unlink(name) || ftruncate(fd, 80 << 20)) return 1;
        *(int *) mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) = 1;
    } else if (!strcmp(what, "unfound")) { /* a file that no name leads to, and no descriptor */
        char name[] = "/tmp/promp-unfound-XXXXXX";
        int fd = mkstemp(name);
        if (fd < 0 || unlink(name) || ftruncate(fd, 4096)) return 1;
        *(int *) mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) = 1;
        close(fd);
    } else if (!strcmp(what, "named") || !strcmp(what, "grandchild")) {
        char name[32];
        snprintf(name, sizeof name, "/promp-%d", getpid());
        semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
        if (semaphore == SEM_FAILED) return 1;
        if (!strcmp(what, "named"))
            atexit(remove_name);
        else if (sem_unlink(name))
            return 1;
        if (!strcmp(what, "grandchild")) {
            pid_t child = fork();
            if (!child) {
                if (fork()) _exit(0);
                closefrom(0);
                struct timespec end = {time(NULL) + 60, 0};
                sem_timedwait(semaphore, &end);
                _exit(0);
            }
            if (waitpid(child, NULL, 0) != child) return 1;
            atexit(let_go);
        }
    } else if (!strcmp(what, "child")) {
        if (fork() == 0) {
            sleep(60);
            _exit(0);
        }
    } else if (!strcmp(what, "timer")) {
        // Asked for without libc: the kernel does not say whose time it counts.
        int t;
        struct sigevent e = {.sigev_notify = SIGEV_NONE};
        syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &e, &t);
    } else if (!strcmp(what, "memfd")) {
        int fd = memfd_create("x", MFD_ALLOW_SEALING);
        if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW)) return 1;
    } else if (!strcmp(what, "inotify")) {
        if (inotify_init1(0) < 0) return 1;
    } else if (!strcmp(what, "watches")) {
        struct epoll_event e = {.events = EPOLLIN};
        int set = epoll_create1(0);
        if (pipe(fds) || epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &e) || dup(fds[0]) < 0 || close(fds[0])) return 1;
    } else if (!strcmp(what, "closes")) {
        int n = 0;
#pragma omp parallel reduction(+ : n)
        n++;
        if (n > 0) closefrom(3);
    }
    double end = omp_get_wtime() + (argc > 2 ? atof(argv[2]) : 0.25);
    long sum = 0;
    int children = 0;
    while (omp_get_wtime() < end || (!strcmp(what, "children") && children < 8)) {
        if (!strcmp(what, "children") && waitpid(-1, NULL, WNOHANG)) { /* one after the other */
            children++;
            if (fork() == 0) {
                usleep(200000);
                _exit(0);
            }
        }
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += i % 3 == 5;
    }
    printf("done %ld\n", sum);
    fflush(stdout);
    if (!strcmp(what, "child")) kill(0, 0);
    return 0;
}
