/* Messages between threads (ZeroMQ, whose own threads block all signals) beside OpenMP: after each region a question, whose answer depends on all before. */
#include <pthread.h>
#include <stdio.h>
#include <zmq.h>

enum { N = 20000, ROUNDS = 100 };
static double a[N];
static void *context;

static void *answers(void *p) {
    void *s = zmq_socket(context, ZMQ_REP);
    zmq_connect(s, "inproc://questions");
    for (long question, sum = 0;;) {
        if (zmq_recv(s, &question, sizeof question, 0) < 0) continue;
        if (question < 0) break;
        sum += question * 3;
        zmq_send(s, &sum, sizeof sum, 0);
    }
    zmq_close(s);
    return p;
}

int main(void) {
    context = zmq_ctx_new();
    void *s = zmq_socket(context, ZMQ_REQ);
    zmq_bind(s, "inproc://questions");
    pthread_t t;
    pthread_create(&t, NULL, answers, NULL);
    unsigned long all = 0;
    for (long r = 0, answer; r < ROUNDS; r++) {
#pragma omp parallel for schedule(dynamic, 500)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 60; k++) a[i] = a[i] * 0.5 + i % 7 + r;
        zmq_send(s, &r, sizeof r, 0);
        while (zmq_recv(s, &answer, sizeof answer, 0) < 0) {}
        all = all * 31 + answer;
    }
    long end = -1;
    int linger = 0;
    zmq_send(s, &end, sizeof end, 0);
    pthread_join(t, NULL);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i];
    printf("%.3f %lu\n", sum, all);
    zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(s);
    zmq_ctx_term(context);
    return 0;
}
