// Rows that are sorted in loops: by functions of this file, one of which counts, and of another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 120, M = 40 };
int by_name(const void *a, const void *b); // orders.c

typedef struct {
    int key;
    char name[12];
    double of;
} Item;

static Item items[N][M];
static long compared[N];
static int order[N][M];

static int by_value(const void *a, const void *b) {
    const Item *x = a, *y = b;
    return (x->of > y->of) - (x->of < y->of);
}

// What it counts is behind what it compares.
static int by_key(const void *a, const void *b) {
    const Item *const *x = a, *const *y = b;
    compared[(*x)->key % N]++;
    return (*x)->key - (*y)->key;
}

static int downwards(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

int main(void) {
    unsigned long seed = 1;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            items[i][k].key = i + N * (int)(seed >> 40 & 15);
            items[i][k].of = (double)(seed >> 33 & 1023) * 0.5;
            snprintf(items[i][k].name, sizeof items[i][k].name, "%lu", seed >> 50);
            order[i][k] = (int)(seed >> 36 & 255);
        }
    double sum = 0;
    for (int r = 0; r < 60; r++) {
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            Item *row = items[i];
            qsort(row, M, sizeof *row, by_value);
            for (int k = 0; k < M; k++) row[k].of = row[k].of * 0.75 + (k * 7 + r) % 11;
            if (r % 3 == 0) qsort(row, M, sizeof *row, by_name);
            const Item *places[M];
            for (int k = 0; k < M; k++) places[k] = &row[k];
            qsort(places, M, sizeof *places, by_key);
            sum += places[0]->of - places[M - 1]->of;
            qsort(order[i], M, sizeof order[i][0], downwards);
            for (int k = 0; k < M; k++) order[i][k] = (order[i][k] * 5 + k + r) % 257;
        }
    }
    double all = 0;
    long times = 0;
    for (int i = 0; i < N; i++) {
        times += compared[i];
        for (int k = 0; k < M; k++) all = all * 0.999 + items[i][k].of + items[i][k].key + order[i][k];
    }
    printf("%.17g %.9g %ld\n", all, sum, times);
    return 0;
}
