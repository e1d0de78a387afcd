/* fences STEPS: registers for membarrier(2) and counts on it in each step, as RCU and JIT compilers do. */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call(int command) { return syscall(SYS_membarrier, command, 0, 0); }

int main(int argc, char **argv) {
    const int registers[] = {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
        MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED};
    const int uses[] = {MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
        MEMBARRIER_CMD_GLOBAL_EXPEDITED};
    enum { GET_REGISTRATIONS = 1 << 9 };
    int steps = argc > 1 ? atoi(argv[1]) : 100, then;
    double sum = 0;
    for (int i = 0; i < 3; i++)
        if (call(registers[i])) return puts("not here"), 77;
    if ((then = call(GET_REGISTRATIONS)) < 0) return puts("not here"), 77;
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += i % 7;
        for (int i = 0; i < 3; i++)
            if (call(uses[i])) return printf("fence %d refused in step %d\n", i, step), 1;
        int now = call(GET_REGISTRATIONS);
        if ((now & then) != then) return printf("registered %x, then %x\n", now, then), 1;
    }
    puts(sum > 0 ? "kept" : "another end");
    return 0;
}
