/* sets STEPS HOW: a set of semaphores of System V that the program makes, and keeps account of itself:
   private, turn (with a token that two threads take in turn), undo (the same, with SEM_UNDO), all (values
   set at once), child (another process uses it first). */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 4 };
static int id;
static long bad;
static unsigned short mine[COUNT];

static void change(int which, int by, int flags) {
    struct sembuf b = {which, by, flags};
    struct timespec limit = {30, 0};
    if (semtimedop(id, &b, 1, &limit) != 0) {
#pragma omp atomic
        bad++;
    }
}

static void compare(void) {
    unsigned short now[COUNT];
    bad += semctl(id, 0, GETALL, now) < 0 || memcmp(now, mine, sizeof now) != 0;
}

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[1]) : 0;
    const char *how = argc > 2 ? argv[2] : "";
    double sum = 0;
    id = semget(IPC_PRIVATE, COUNT, 0600);
    if (id < 0) {
        puts("not here");
        return 0;
    }
    mine[3] = 1;
    semctl(id, 0, SETALL, mine);
    if (!strcmp(how, "child")) {
        if (fork() == 0) {
            change(1, 1, 0);
            _exit(0);
        }
        wait(NULL);
        mine[1]++;
    }
    int undo = !strcmp(how, "undo") ? SEM_UNDO : 0;
    for (int step = 0; step < steps; step++) {
        if (!strcmp(how, "all")) {
            for (int k = 0; k < COUNT; k++) mine[k] = (step * 7 + k) % 100;
            semctl(id, 0, SETALL, mine);
        } else {
            change(step % 2, 1, undo);
            mine[step % 2]++;
        }
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (int i = 0; i < 20000; i++) sum += i % 7;
        compare();
        if (undo || !strcmp(how, "turn")) {
            // Each waits for the token that the other one has.
#pragma omp parallel num_threads(2)
            for (int k = 0; k < 4; k++) {
                change(3, -1, undo);
                usleep(100);
                change(3, 1, undo);
            }
        }
        usleep(1000);
    }
    compare();
    semctl(id, 0, IPC_RMID);
    puts(bad ? "not kept" : "kept");
    return bad != 0;
}
