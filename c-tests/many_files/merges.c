/* A reduction is merged by one instruction. The second thread is killed right behind that (step.c): a sum
   that is merged twice is wrong. */
#include <omp.h>
#include <stdio.h>

void steps_on(void);

int main(void)
{
    NUMBER sum = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            steps_on();
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i * 7 + 1;
    }
    printf("%g\n", (double)sum);
    return 0;
}
