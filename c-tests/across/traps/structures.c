/* Work on arrays behind structures: exact results, wherever a thread is killed. */
#include "traps.h"
#include <stdlib.h>

enum { ROWS = 4000, LONG = 300 };
static double data[ROWS][2], source[2 * ROWS + LONG];

int main(void) {
    struct work one = { source, data[0], 0, NULL }, list = { source, data[0], 0, &one };
    struct work *both[2] = { &one, &list };
    struct plan *plans = calloc(ROWS, sizeof *plans);
    double total = 0;
    for (int i = 0; i < 2 * ROWS + LONG; i++) source[i] = i % 17;
    for (int round = 0; round < 12; round++) {
#pragma omp parallel reduction(+ : total)
        {
            /* State of the thread's own, behind pointers, that goes from chunk to chunk. */
            struct plan mine = { NULL, 0 };
            struct work *stack = NULL, local = one;
#pragma omp for schedule(dynamic, 3)
            for (int i = 0; i < ROWS; i++) {
                replan(&mine, 40 + (i & 1));
                replan(&mine, 3 + i % 5);
                count_up(&mine);
                push(&stack, &data[i][0]);
                add_in_list(stack, 0);
                pop(&stack);
                add_members(&local, 2 * i);
                data[i][1] += planned(&mine, i) + of_scratch(source + i, LONG);
            }
            free(mine.table);
#pragma omp for
            for (int i = 0; i < ROWS; i++) {
                struct plan p = { NULL, 0 };
                grow(&p, 5);
                grow(&p, 20 + i % 20);
                count_up(&p);
                grow(&plans[i], 4 + round);
                count_up(&plans[i]);
                data[i][0] += planned(&p, i) + planned(&plans[i], i);
                add_twice_removed(&both[i & 1], 2 * i);
                scale_row_of(&one, 2 * i + 1);
                by_the_kernel(&data[i][1]);
                free(p.table);
            }
#pragma omp for
            for (int i = 0; i < ROWS; i++) {
                data[i][0] += of_a_new_row(source + i) + of_an_own_row(source + i);
                data[i][1] += of_a_row_that_is_given(source + i, plans[i].table)
                              + of_a_row_inside(source + i, plans[i].table) + of_a_shared_row(source + i);
            }
#pragma omp for schedule(static, 7)
            for (int i = 0; i < ROWS; i++) {
                struct work w = { &data[i][0], &data[i][1], 0, NULL };
                exchange_members(&w);
                add_members(&w, 0);
                set_members(&w, 0);
                exchange_members(&w);
                add_in_list(&w, 0);
                scale_some(data[i], i % 3);
                total += of_scratch(data[i], 2) > 1e6;
            }
        }
    }
    double sum = 0;
    for (int i = 0; i < ROWS; i++) sum += data[i][0] + 3 * data[i][1] + plans[i].table[0];
    printf("%.17g %g\n", sum, total);
}
