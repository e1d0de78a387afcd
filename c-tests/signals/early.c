/* Thread 0 of a team sends signals to all others, all the time, while the others compute: nobody hears that
   there is no such thread, whoever has got a new host, also by the first of them that goes on after a
   rollback. Argument: rounds. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4

static pthread_t thread[THREADS];
static atomic_int here, over;
static atomic_long taken;

static void handler(int s) { taken++; }

static double compute(int rounds) {
    volatile double x = 1;
    for (int k = 0; k < 1000 * rounds; k++) x = x * 0.5 + k;
    return x;
}

int main(int argc, char **argv) {
    int rounds = atoi(argv[1]);
    signal(SIGUSR1, handler);
    #pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        thread[me] = pthread_self();
        here++;
        if (me > 0) {
            while (!over) compute(1);
        } else {
            while (here < THREADS) compute(1);
            for (int r = 0; r < rounds; r++) {
                for (int n = 1; n < THREADS; n++) {
                    int error = pthread_kill(thread[n], SIGUSR1);
                    if (error) {
                        fprintf(stderr, "thread %d: %s\n", n, strerror(error));
                        _exit(3);
                    }
                }
                compute(1);
            }
            over = 1;
        }
    }
    printf("%d rounds, signals %s\n", rounds, taken ? "taken" : "lost");
    return 0;
}
