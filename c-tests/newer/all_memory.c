// depend(out: omp_all_memory): a null address to the runtime. Such a task
// comes after every earlier sibling with dependences,
// and before every later one.
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int wrong = 0;
    for (int round = 0; round < 30; round++) {
        int x = 0, y = 0, z = 0, seen = -1, late = -1;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out: x) shared(x)
            { usleep(300); x = 1; }
#pragma omp task depend(in: y) shared(z)
            { usleep(100); z = 2; }
            // As GCC 12 and later write it.
#pragma omp task depend(out: *(char *)0) shared(x, y, z, seen)
            { usleep(200); seen = 10 * x + z; y = 5; }
#pragma omp task depend(in: x) shared(y, late)
            late = y;
#pragma omp task depend(in: y) shared(x, y)
            { if (y != 5) x = 100; }
#pragma omp task depend(inout: *(char *)0) shared(x)
            x += 1;
#pragma omp taskwait depend(inout: *(char *)0)
            if (x != 2) wrong++;
        }
        if (seen != 12 || late != 5) wrong++;
    }
    printf("%s\n", wrong ? "wrong" : "right");
    return wrong != 0;
}
