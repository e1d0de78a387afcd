/* Gives rights up in the middle of the work, as a server does that was started as root, and looks whether any
   kernel thread
   of the process has kept what the program has not. argv[1]: how. Run as root; 77 if it is not. */
#define _GNU_SOURCE
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <omp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { N = 6 };
static const char *names[N] = {"Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:", "NoNewPrivs:"};
static void read_of(const char *tid, char v[N][256]) {
    char path[300], line[4096];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    memset(v, 0, N * 256);
    FILE *f = fopen(path, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f))
        for (int i = 0; i < N; i++)
            if (!strncmp(line, names[i], strlen(names[i]))) snprintf(v[i], 256, "%s", line);
    fclose(f);
}
/* How many threads of the process have other rights than the caller. */
static int others(int show) {
    char mine[N][256], theirs[N][256], me[32];
    snprintf(me, sizeof me, "%d", (int)syscall(SYS_gettid));
    read_of(me, mine);
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; (e = readdir(d));) {
        if (*e->d_name == '.') continue;
        read_of(e->d_name, theirs);
        if (!*theirs[0]) continue;
        for (int i = 0; i < N; i++)
            if (strcmp(mine[i], theirs[i])) {
                if (show) fprintf(stderr, "thread %s has %s", e->d_name, theirs[i]);
                n++;
            }
    }
    closedir(d);
    return n;
}
static double work(void) {
    double s = 0;
#pragma omp parallel for schedule(dynamic, 8) reduction(+ : s)
    for (int i = 0; i < 400; i++)
        for (int k = 0; k < 1000; k++) s += i;
    return s;
}
static void drop_one_everywhere(void) {
#pragma omp parallel
    {
        struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct d[2] = {{0}};
        syscall(SYS_capget, &h, d);
        d[0].effective &= ~(1u << CAP_SYS_TIME), d[0].permitted &= ~(1u << CAP_SYS_TIME);
        syscall(SYS_capset, &h, d);
    }
}
int main(int argc, char **argv) {
    const char *how = argv[1];
    double s = 0;
    if (geteuid()) return 77;
    for (int r = 0; r < 20; r++) s += work();
    if (others(1)) return puts("different before"), 1;
    int bad = 0;
    if (!strcmp(how, "setuid")) bad |= setgid(65534) || setuid(65534);
    if (!strcmp(how, "groups")) {
        gid_t g[2] = {65534, 12345};
        bad |= setgroups(2, g) || initgroups("nobody", 65534) || setresgid(65534, 65534, 65534) ||
               setresuid(65534, 65534, 65534);
    }
    if (!strcmp(how, "and back")) bad |= seteuid(65534) || others(1) || seteuid(0);
    if (!strcmp(how, "reuid")) bad |= setregid(65534, 65534) || setreuid(65534, 65534);
    if (!strcmp(how, "keepcaps")) {
        struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct d[2] = {{1u << CAP_NET_BIND_SERVICE, 1u << CAP_NET_BIND_SERVICE, 0}};
#pragma omp parallel
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
        bad |= setuid(65534);
#pragma omp parallel
        syscall(SYS_capset, &h, d);
    }
    if (!strcmp(how, "capset")) drop_one_everywhere();
    if (!strcmp(how, "no new")) {
#pragma omp parallel
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    if (bad) return puts("not possible"), 2;
    int n = others(1);
    for (int r = 0; r < 20; r++) s += work(), n += others(1);
    printf("%.0f, others %d\n", s, n);
    return n != 0;
}
