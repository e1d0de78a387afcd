/* A region, and then two children that end as programs do (exit), the second with a region of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int sum(void) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += i;
    return sum;
}

int main(void) {
    int mine = sum();
    for (int child = 0; child < 2; child++) {
        pid_t pid = fork();
        if (pid == 0) exit(child == 1 && sum() != mine);
        int status = 1;
        if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
    }
    printf("sum %d\n", mine);
    return 0;
}
