/* tokens STEPS HOW KEY: semaphores of System V, from half of the steps on: count, token (given back by the
   system at the end), gone (removed at once), number (by syscall(2)), asks (in vain, for one that is not
   there). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

static int id;

static int change(int by, int undo) {
    struct sembuf b = {0, by, IPC_NOWAIT | (undo ? SEM_UNDO : 0)};
    return semop(id, &b, 1);
}

static void begin(const char *how, int key) {
    if (!strcmp(how, "asks")) {
        if (semget(0x7a7a7a7a, 1, 0) >= 0) exit(77);
        return;
    }
    int flags = IPC_CREAT | 0600;
    id = !strcmp(how, "number") ? syscall(SYS_semget, key, 1, flags) : semget(key, 1, flags);
    if (id < 0) exit(77);
    if (!strcmp(how, "gone")) semctl(id, 0, IPC_RMID);
    else change(1, !strcmp(how, "token"));
}

int main(int argc, char **argv) {
    int steps = argc > 3 ? atoi(argv[1]) : 0;
    double sum = 0;
    for (int step = 0; step < steps; step++) {
        if (step == steps / 2) begin(argv[2], atoi(argv[3]));
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
        usleep(1000);
    }
    if (id > 0) semctl(id, 0, IPC_RMID);
    puts(sum > 0 ? "kept" : "another end");
    return 0;
}
