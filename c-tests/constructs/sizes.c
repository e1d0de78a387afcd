/* Regions of changing size, some of them cancelled between two barriers, some started by several threads of the program at once, with
   tasks in some: behind a barrier every member sees what every other one wrote before it. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { MOST = 4, REGIONS = 3000 };

static void *run(void *seed) {
    unsigned long state = (unsigned long)seed, wrong = 0, tasks = 0, expected = 0;
    for (int r = 0; r < REGIONS; r++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int n = "2212321422"[state >> 60 & 7] - '0', rounds = state >> 33 & 3, makes = !(state >> 40 & 7), stops = !(state >> 45 & 7);
        int wrote[MOST] = { 0 };
        expected += makes ? n * rounds : 0;
#pragma omp parallel num_threads(n) reduction(+ : wrong)
        {
            int me = omp_get_thread_num(), size = omp_get_num_threads();
            for (int k = 1; k <= rounds; k++) {
                wrote[me] = k;
                if (makes) {
#pragma omp task shared(tasks)
#pragma omp atomic
                    tasks++;
                }
#pragma omp barrier
                for (int i = 0; i < size; i++) wrong += wrote[i] != k;
#pragma omp barrier
            }
            if (stops && me == size - 1) {
#pragma omp cancel parallel
            }
#pragma omp cancellation point parallel
#pragma omp barrier
        }
    }
    if (tasks != expected) wrong++;
    return (void *)wrong;
}

int main(void) {
    pthread_t other[2];
    unsigned long wrong = 0;
    for (long i = 0; i < 2; i++) pthread_create(&other[i], NULL, run, (void *)(i + 5));
    wrong += (unsigned long)run((void *)1);
    for (int i = 0; i < 2; i++) {
        void *w;
        pthread_join(other[i], &w);
        wrong += (unsigned long)w;
    }
    printf("%lu\n", wrong);
    return 0;
}
