/* An event loop (libuv) beside OpenMP: a timer starts regions, a message to the loop has its threads work, their results come back through the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { N = 20000, ROUNDS = 100 };
static double a[N];
static int round_now, done;
static long results;
static uv_timer_t timer;
static uv_async_t message;

static void job(uv_work_t *w) {
    long of = (long)w->data, sum = 0;
    for (int i = 0; i < 20000; i++) sum += i * of % 7;
    w->data = (void *)sum;
}
static void finished(uv_work_t *w, int status) {
    results += (long)w->data;
    free(w);
    if (++done == ROUNDS) uv_close((uv_handle_t *)&timer, NULL), uv_close((uv_handle_t *)&message, NULL);
}
static void told(uv_async_t *m) {
    static int asked;
    for (; asked < round_now; asked++) { /* several messages may be told of as one */
        uv_work_t *w = malloc(sizeof *w);
        w->data = (void *)(long)(asked + 1);
        uv_queue_work(uv_default_loop(), w, job, finished);
    }
}
static void region(uv_timer_t *t) {
    round_now++;
#pragma omp parallel for schedule(dynamic, 500)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 60; k++) a[i] = a[i] * 0.5 + i % 7 + round_now;
    uv_async_send(&message);
    if (round_now == ROUNDS) uv_timer_stop(t);
}

int main(void) {
    uv_timer_init(uv_default_loop(), &timer);
    uv_async_init(uv_default_loop(), &message, told);
    uv_timer_start(&timer, region, 1, 3);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i];
    printf("%.3f %d %ld\n", sum, done, results);
    return 0;
}
