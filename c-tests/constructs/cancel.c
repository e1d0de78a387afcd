/* Cancellation (needs OMP_CANCELLATION=true; without it everything runs to its end). Prints what must hold either way. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    int on = omp_get_cancellation(), done = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            done++;
            if (i == 5) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
    }
    printf("loop %s\n", on ? (done < 1000 ? "cut" : "NOT CUT") : (done == 1000 ? "whole" : "NOT WHOLE"));
    int after = 0;
#pragma omp parallel num_threads(4)
    {
        if (omp_get_thread_num() == 2) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        after++;
    }
    printf("parallel %s\n", on ? (after == 0 ? "cut" : "NOT CUT") : (after == 4 ? "whole" : "NOT WHOLE"));
    int tasks = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 300; i++) {
#pragma omp task
        {
#pragma omp atomic
            tasks++;
            if (i == 3) {
#pragma omp cancel taskgroup
            }
        }
    }
    printf("tasks %s\n", on ? "any" : (tasks == 300 ? "whole" : "NOT WHOLE"));
    int sections = 0;
#pragma omp parallel sections num_threads(1)
    {
#pragma omp section
        {
            sections++;
#pragma omp cancel sections
        }
#pragma omp section
        sections++;
    }
    printf("sections %s\n", on ? (sections == 1 ? "cut" : "NOT CUT") : (sections == 2 ? "whole" : "NOT WHOLE"));
    long s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < 100; i++) s += i;
    printf("afterwards %ld\n", s);
    return 0;
}
