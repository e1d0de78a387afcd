/* Atomic additions of all sizes, by all threads to the same numbers, which are taken back when a thread
   fails. What they come to is printed. With an argument there is somebody else who could see them:
   "thread": a thread of the program's own; "nested": an outer team; "shared": another process, which may
   have some of the numbers' memory, too. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 60000, BINS = 97, ROUNDS = 25 };
static unsigned char bytes[BINS];
static unsigned short shorts[BINS];
static int own[BINS], *ints = own, bin[N], copy[N];
static long longs[BINS];

static void *sleeps(void *p)
{
    pause();
    return p;
}

static void in_rows(long (*rows)[BINS], int n)
{
#pragma omp parallel for schedule(dynamic, 50)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 3; j++) {
#pragma omp atomic
            rows[0][bin[i] / (j + 1)] += i - j;
        }
}

static int counts(void)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        copy[i] = bin[i] + 1;
#pragma omp atomic
        ints[bin[i]]++;
        sum += copy[i];
    }
#pragma omp parallel
    {
#pragma omp for nowait
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            bytes[bin[i]] += i;
        }
#pragma omp for
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            shorts[bin[i]] -= (unsigned short)i;
        }
#pragma omp for
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            ints[(bin[i] + shorts[3]) % BINS] -= 2;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "";
    pthread_t t;
    if (!strcmp(who, "thread")) pthread_create(&t, NULL, sleeps, NULL);
    if (!strcmp(who, "shared"))
        ints = mmap(0, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    omp_set_max_active_levels(2);
    for (int i = 0; i < N; i++) bin[i] = (unsigned)i * 2654435761u >> 7 & 63;
    long sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
        if (!strcmp(who, "nested")) {
#pragma omp parallel num_threads(2)
            {
                if (omp_get_thread_num() == 1) {
                    sum += counts();
                    in_rows(&longs, N);
                }
            }
        } else {
            sum += counts();
            in_rows(&longs, N);
        }
    }
    unsigned long all = sum;
    for (int i = 0; i < BINS; i++)
        all = all * 31 + bytes[i] + 3 * shorts[i] + 5ul * ints[i] + 7 * longs[i] + copy[i * 600];
    printf("%lu %d %d %d %ld\n", all, bytes[5], shorts[5], ints[5], longs[5]);
    return 0;
}
