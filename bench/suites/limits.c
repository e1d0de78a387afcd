/* What the machine can do: a cache line to and fro between two threads, waking a thread, copying memory. No OpenMP. */
#define _GNU_SOURCE
#include "bench.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct { _Alignas(128) volatile uint32_t v; } ping, pong;
static volatile long rounds;
static pthread_t partner;

static cpu_set_t allowed;

/* The calling thread to the n-th of the CPUs that the program may use. */
static void pin(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &allowed) && cpu-- == 0) CPU_SET(c, &one);
    if (CPU_COUNT(&one)) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *answer(void *unused) {
    pin(1);
    for (long i = 1; i <= rounds; i++) {
        while (ping.v != (uint32_t)i) __builtin_ia32_pause();
        pong.v = (uint32_t)i;
    }
    return unused;
}

static double round_trip(void) {
    rounds = 200000;
    ping.v = pong.v = 0;
    pthread_create(&partner, 0, answer, 0);
    pin(0);
    double t = 0;
    for (long i = 1; i <= rounds; i++) {
        if (i == 1000) t = now_ns();
        ping.v = (uint32_t)i;
        while (pong.v != (uint32_t)i) __builtin_ia32_pause();
    }
    t = (now_ns() - t) / (double)(rounds - 1000);
    pthread_join(partner, 0);
    return t;
}

static void futex(volatile uint32_t *p, int op, uint32_t v) { syscall(SYS_futex, p, op | FUTEX_PRIVATE_FLAG, v, 0, 0, 0); }

static void *sleeper(void *unused) {
    pin(1);
    for (long i = 1; i <= rounds; i++) {
        for (uint32_t v; (v = ping.v) != (uint32_t)i;) futex(&ping.v, FUTEX_WAIT, v);
        pong.v = (uint32_t)i;
        futex(&pong.v, FUTEX_WAKE, 1);
    }
    return unused;
}

static double wake_round_trip(void) {
    rounds = 5000;
    ping.v = pong.v = 0;
    pthread_create(&partner, 0, sleeper, 0);
    pin(0);
    double t = now_ns();
    for (long i = 1; i <= rounds; i++) {
        ping.v = (uint32_t)i;
        futex(&ping.v, FUTEX_WAKE, 1);
        for (uint32_t v; (v = pong.v) != (uint32_t)i;) futex(&pong.v, FUTEX_WAIT, v);
    }
    t = (now_ns() - t) / (double)rounds;
    pthread_join(partner, 0);
    return t;
}

int main(void) {
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (CPU_COUNT(&allowed) < 2) return 1;
    double a[BLOCKS], b[BLOCKS], c[BLOCKS];
    size_t size = 64 << 20;
    char *from = malloc(size), *to = malloc(size);
    memset(from, 1, size);
    memset(to, 2, size);
    for (int i = 0; i < BLOCKS; i++) {
        a[i] = round_trip();
        b[i] = wake_round_trip();
        double t = now_ns();
        memcpy(to, from, size);
        c[i] = (double)size / (now_ns() - t);
        from[i] = to[size - 1];
    }
    printf("cache line, there and back\t%.2f\n", sorted(a, BLOCKS)[BLOCKS / 2]);
    printf("futex wake, there and back\t%.2f\n", sorted(b, BLOCKS)[BLOCKS / 2]);
    printf("memory copy (GB/s)\t%.2f\n", sorted(c, BLOCKS)[BLOCKS / 2]);
    return 0;
}
