/* Semaphores without names: part of the process, and shared with the children that it makes. */
#include <fcntl.h>
#include <omp.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t *made(int step, int value) {
    char name[64];
    snprintf(name, sizeof name, "/promp-test-%d-%d", getpid(), step);
    sem_t *s = sem_open(name, O_CREAT | O_EXCL, 0600, value);
    if (s == SEM_FAILED || sem_unlink(name)) {
        perror(name);
        exit(3);
    }
    return s;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 150, value = 0;
    double sum = 0;
    sem_t *lock = made(-1, 1), *count = made(0, 0);
    for (int step = 0; step < steps; step++) {
        double until = omp_get_wtime() + 0.002, part = 0;
#pragma omp parallel
        {
            while (omp_get_wtime() < until) {}
            sem_wait(lock);
            part += omp_get_thread_num() + step;
            if (step % 3 == 0) sem_post(count);
            sem_post(lock);
        }
        sum += part;
        if (step % 4 == 0 && sem_trywait(count)) return printf("step %d: the count is too low\n", step), 3;
        if (step % 10 == 9) { /* another one takes its place */
            sem_getvalue(count, &value);
            sem_close(count);
            count = made(step, value);
        }
        if (step % 25 == 24) {
            pid_t child = fork();
            if (!child) {
                sem_post(count);
                _exit(0);
            }
            int status = -1;
            if (waitpid(child, &status, 0) != child || status) return printf("step %d: the child: %x\n", step, status), 3;
        }
    }
    sem_getvalue(count, &value);
    printf("%.0f %d\n", sum, value);
    return 0;
}
