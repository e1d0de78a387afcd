/* Static variables of many types; when they are set the program says so, and comes to a place again and again
   where `work` is dead. */
#include <complex.h>
#include <promp.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
enum { N = 300 };
struct pair {
    float x;
    int8_t tag;
    double y[2];
};
double matrix[N][5];
static float _Complex wave[7];
static struct pair pairs[3];
static int32_t counts[4] = {1, 2, 3, 4};
static uint64_t large = 1ull << 63;
static double work[20000];
const char *text = "not exported";

static int next(void) {
    static short calls = 40;
    return ++calls;
}

int main(void) {
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 5; k++) matrix[i][k] = i + k / 8.0;
    for (int i = 0; i < 7; i++) wave[i] = i - i * 2.0f * I;
    for (int i = 0; i < 3; i++) pairs[i] = (struct pair){i, (int8_t)-i, {i * 3.0, i * 5.0}};
    for (int i = 0; i < 20000; i++) work[i] = i;
    next(), next();
    puts("set"), fflush(stdout);
    for (;;) {
        promp_dead(work, sizeof work);
        promp_potential_ckpt();
        usleep(2000);
    }
}
