/* A filter of system calls, which allows them all, from step argv[2] on, of all threads or (argv[3] "one") of
   the first one alone. argv[1]: steps. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int filters(int all) {
    struct sock_filter allows[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog p = {1, allows};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all ? SECCOMP_FILTER_FLAG_TSYNC : 0, &p);
}
int main(int argc, char **argv) {
    unsigned long sum = 0;
    int from = atoi(argv[2]), all = argc < 4 || strcmp(argv[3], "one");
    for (int step = 0; step < atoi(argv[1]); step++) {
        if (step == from && filters(all))
            return 8;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            sum += i ^ step;
        usleep(2000);
    }
    printf("%lu\n", sum);
    return 0;
}
