/* Threads of the program's own beside its teams: one that sleeps until it gets work, one that computes all the time, one that starts regions
 * itself, and some that come and go. Each piece of work has a known result. own [rounds [inside]]: prints sums that do not depend on timing;
 * inside: no thread waits for anything but other threads. */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 200000 };

static unsigned long mix(unsigned long x) {
    x ^= x >> 31, x *= 0x7fb5d329728ea185ul, x ^= x >> 27, x *= 0x81dadef4bc2dd44dul;
    return x ^ x >> 33;
}

/* Work for the thread that sleeps. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int given, done;
static unsigned long slept_sum;

static void *sleeper(void *p) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (given == done) pthread_cond_wait(&changed, &lock);
        if (given < 0) break;
        for (int i = 0; i < 1000; i++) slept_sum += mix(slept_sum + done + i);
        done++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* Hashes a sequence until it is told to stop, and further, up to a whole number of steps. */
static atomic_int over;
enum { STEPS = 1 << 16 };

static void *counter(void *p) {
    unsigned long *bad = p, n = 0;
    _Thread_local static unsigned long sum;
    do {
        sum = 0;
        for (unsigned long i = 0; i < STEPS; i++) sum += mix(i) ^ i;
        static unsigned long first;
        if (n++ == 0) first = sum;
        if (sum != first) ++*bad;
    } while (!atomic_load(&over));
    return p;
}

/* Has a team of its own. */
static int inside;
static void *primary(void *p) {
    unsigned long *sum = p;
    while (!atomic_load(&over)) {
        unsigned long s = 0;
#pragma omp parallel for reduction(+ : s) num_threads(2)
        for (int i = 0; i < 5000; i++) s += mix(i);
        *sum = s;
        if (!inside) usleep(100);
    }
    return p;
}

static void *brief(void *p) {
    unsigned long *x = p;
    for (int i = 0; i < 2000; i++) *x = mix(*x + i);
    return p;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 600;
    inside = argc > 2;
    static unsigned long a[N], team_sum, bad, pieces[3];
    pthread_t own[3], come[3];
    pthread_create(&own[0], NULL, sleeper, NULL);
    pthread_create(&own[1], NULL, counter, &bad);
    pthread_create(&own[2], NULL, primary, &team_sum);
    for (int i = 0; i < N; i++) a[i] = i;
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < 3; k++) pthread_create(&come[k], NULL, brief, &pieces[k]);
        pthread_mutex_lock(&lock);
        given++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
#pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < N; i++) a[i] = mix(a[i] + r);
        pthread_mutex_lock(&lock);
        while (done != given) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        for (int k = 0; k < 3; k++) pthread_join(come[k], NULL);
    }
    pthread_mutex_lock(&lock);
    given = -1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    atomic_store(&over, 1);
    for (int k = 0; k < 3; k++) pthread_join(own[k], NULL);
    unsigned long sum = 0;
    for (int i = 0; i < N; i++) sum = mix(sum + a[i]);
    printf("array %lx, sleeper %lx, team %lx, brief %lx, wrong %lu\n", sum, slept_sum, team_sum, pieces[0] + pieces[1] + pieces[2], bad);
}
