/* A thread that ends itself (argv[1] "exit"; "filter": by a filter of system calls), crashes ("crash"; "bus":
   behind the end of a file, "divide") or waits for ever ("wait"). argv[2] "same":
   each time the program comes to the same place; "random": now and then, by numbers that no rollback takes
   back; "inside": the same place, in a region in which much goes by before. Else prints the right sum. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { REGIONS = 120, SAME = 60 };
static const char *how;
static volatile int never, one = 1;
/* From here on the call ends the thread that makes it. */
static void filter(void) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog p = {4, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) exit(77);
}
static void bus(void) {
    FILE *f = tmpfile();
    char *behind = f ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0) : MAP_FAILED;
    if (behind == MAP_FAILED) exit(77);
    *(volatile char *)behind;
}
static void fail(void) {
    if (!strcmp(how, "filter")) syscall(SYS_getpgid, 0);
    if (!strcmp(how, "bus")) bus();
    if (!strcmp(how, "divide")) never = one / never;
    if (!strcmp(how, "exit")) syscall(SYS_exit, 0);
    if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(how, "wait"))
        while (!never) {}
}
static int rarely(void) {
    unsigned n = 0;
    if (getrandom(&n, sizeof n, 0) != sizeof n) exit(77);
    return n % 12 == 0;
}
int main(int argc, char **argv) {
    if (argc < 3) return 2;
    how = argv[1];
    int same = !strcmp(argv[2], "same"), inside = !strcmp(argv[2], "inside");
    long sum = 0;
    if (!strcmp(how, "filter")) filter();
    for (int r = 0; r < (inside ? 1 : REGIONS); r++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        for (int i = 0; i < (inside ? REGIONS : 1); i++) {
            usleep(2000);
            if (omp_get_thread_num() == 1 && (same || inside ? r + i == SAME : rarely())) fail();
#pragma omp barrier
            sum += r + i;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
