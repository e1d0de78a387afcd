/* A kernel thread that is really gone. argv[1]: how it ends ("exit": its own system call; "filter": a filter
   of system calls that all threads have; "bare": the system call without libc; "pthread_exit"); argv[2]:
   where; argv[3]: which threads ("1", "0", "02", ...), each once; argv[4]: rounds. Prints the sum, which is
   right or not printed. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { N = 4000 };
static const char *how, *where, *which;
static volatile int done[64];
static double out[N];
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
__attribute__((noinline)) static void bare(void) {
    __asm__ volatile("mov $60, %%eax\n xor %%edi, %%edi\n syscall" ::: "rax", "rdi", "rcx", "r11", "memory");
}
static int chosen(int me) {
    for (const char *w = which; *w; w++) if (*w - '0' == me) return 1;
    return 0;
}
/* It happens once; built with -DONCE also through rollbacks: the access bits of that file do not go back. */
#ifdef ONCE
__attribute__((noinline)) static int was_there(int me) {
    struct stat st;
    const char *once = getenv("ONCE");
    stat(once, &st);
    chmod(once, st.st_mode | 1 << me);
    return st.st_mode >> me & 1;
}
#else
static int was_there(int me) { return 0; }
#endif
__attribute__((noinline)) static void end_of(int me) {
    if (!chosen(me) || done[me]) return;
    done[me] = 1;
    if (was_there(me)) return;
    if (*how == 'e') syscall(SYS_exit, 0);
    else if (*how == 'f') syscall(SYS_getpgid, 0);
    else bare();
}
static void end_by_libc(int me) {
    if (!chosen(me) || done[me]) return;
    done[me] = 1;
    pthread_exit(NULL);
}
/* The others leave it to these to come here first. */
static void after_the_chosen(int me) {
    if (!chosen(me))
        for (const char *w = which; *w; w++) while (!done[*w - '0']) sched_yield();
}
static void busy(int n) { for (volatile int k = 0; k < n; k++); }
static int is(const char *w) { return !strcmp(where, w); }
int main(int argc, char **argv) {
    how = argv[1], where = argv[2], which = argv[3];
    int rounds = argc > 4 ? atoi(argv[4]) : 3;
    if (*how == 'f') filter();
    double sum = 0;
    long count = 0;
    for (int r = 0; r < rounds; r++) {
        memset(out, 0, sizeof out);
        for (int k = 0; k < 64; k++) done[k] = r != 1; /* in the second round */
        if (is("chunk")) {
#pragma omp parallel for schedule(dynamic, 16)
            for (int i = 0; i < N; i++) {
                after_the_chosen(omp_get_thread_num());
                if (i % 16 == 9) end_of(omp_get_thread_num());
                out[i] = i;
            }
        } else if (is("libc")) {
#pragma omp parallel for schedule(dynamic, 16)
            for (int i = 0; i < N; i++) {
                after_the_chosen(omp_get_thread_num());
                if (i % 16 == 9) end_by_libc(omp_get_thread_num());
                out[i] = i;
            }
        } else if (is("share")) {
#pragma omp parallel
            {
#pragma omp for schedule(static)
                for (int i = 0; i < N; i++) {
                    if (i % 1000 == 900) end_of(omp_get_thread_num());
                    out[i] = i;
                }
            }
        } else if (is("asleep")) { /* the others sleep in a barrier */
#pragma omp parallel
            {
                int me = omp_get_thread_num();
#pragma omp barrier
                if (chosen(me)) { busy(100000000); end_of(me); }
#pragma omp barrier
#pragma omp for schedule(static, 1)
                for (int i = 0; i < N; i++) out[i] = i;
            }
        } else if (is("nested")) {
#pragma omp parallel num_threads(2)
#pragma omp parallel for schedule(dynamic, 16) num_threads(3)
            for (int i = 0; i < N; i++) {
                if (omp_get_ancestor_thread_num(1) == 1) {
                    after_the_chosen(omp_get_thread_num());
                    if (i % 16 == 9) end_of(omp_get_thread_num());
                }
                out[i] = i;
            }
        } else if (is("task")) {
#pragma omp parallel
#pragma omp single
            for (int i = 0; i < N; i += 16)
#pragma omp task firstprivate(i)
            {
                after_the_chosen(omp_get_thread_num());
                end_of(omp_get_thread_num());
                for (int k = i; k < i + 16 && k < N; k++) out[k] = k;
            }
        } else if (is("critical")) {
#pragma omp parallel
            {
#pragma omp critical
                {
                    busy(1000);
                    end_of(omp_get_thread_num());
                    count++;
                }
#pragma omp for
                for (int i = 0; i < N; i++) out[i] = i;
            }
        } else if (is("heap")) { /* with a function of libc's in it that takes a lock */
#pragma omp parallel for schedule(dynamic, 16)
            for (int i = 0; i < N; i++) {
                after_the_chosen(omp_get_thread_num());
                char *volatile p = malloc(1000 + i); free(p);
                if (i % 16 == 9) end_of(omp_get_thread_num());
                out[i] = i;
            }
        } else if (is("always")) { /* not once: whenever the work is done */
#pragma omp parallel for schedule(dynamic, 16)
            for (int i = 0; i < N; i++) {
                busy(200);
                if (i == 777 && r == 1) syscall(SYS_exit, 0);
                out[i] = i;
            }
        } else if (is("serial")) {
#pragma omp parallel for
            for (int i = 0; i < N; i++) out[i] = i;
            end_of(0);
        }
        for (int i = 0; i < N; i++) sum += out[i] * (r + 1);
    }
    printf("%.0f\n", sum);
    return sum != (double)N * (N - 1) / 2 * rounds * (rounds + 1) / 2;
}
