// Map clauses as GCC 13 to 17 hand them over, by the calls that they emit: private arrays of Fortran,
// iterators, `present`, structures whose members come in any order. On the host and on devices.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALLOC = 0, TO = 1, FROM = 2, TOFROM = 3, FORCE_PRESENT = 6, FIRSTPRIVATE = 12, RELEASE = 0x17,
    ATTACH = 0x50, DETACH = 0x51, STRUCT_UNORDERED = 0x5c,
    ALWAYS_PRESENT_TO = 0x95, ALWAYS_PRESENT_FROM = 0x96,
    ALIGNED = 3 << 8, EXIT = 2
};
#define ITERATED SIZE_MAX

void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned, void **,
                     void **);
void GOMP_target_update_ext(int, size_t, void **, size_t *, unsigned short *, unsigned, void **);
void GOMP_target_enter_exit_data(int, size_t, void **, size_t *, unsigned short *, unsigned, void **);

static int failures;

static void check(int right, const char *what) {
    if (!right) {
        printf("wrong: %s\n", what);
        failures++;
    }
}

static void region(void (*f)(void *), size_t n, void **addrs, size_t *sizes, unsigned short *kinds) {
    static void *launch[] = {(void *)-130816l, (void *)512l, 0};
    GOMP_target_ext(-1, f, n, addrs, sizes, kinds, 0, 0, launch);
}

struct descriptor {
    int *data;
    long n;
    long stride;
};

static void private_array(void *p) {
    void **a = p;
    struct descriptor *d = a[0];
    int *out = a[3];
    out[0] = d->data ? 0 : -1;
    for (int i = 0; d->data && i < d->n; i++) out[0] += d->data[i];
    if (d->data && d->n) d->data[0] = 99;
    d->n = 1234;
    d->data = 0;
}

static void private_arrays(void) {
    static const struct { long n; int there; const char *what; } cases[] = {
        {3, 1, "a private array"}, {0, 1, "a private array of no elements"}, {3, 0, "one not allocated"}};
    unsigned short kinds[] = {FIRSTPRIVATE | ALIGNED, FIRSTPRIVATE | ALIGNED, ATTACH, FROM | ALIGNED};
    for (int i = 0; i < 3; i++) {
        int values[3] = {1, 20, 300}, out[1] = {7};
        struct descriptor d = {cases[i].there ? values : 0, cases[i].n, 1};
        void *addrs[4] = {&d, d.data, &addrs[0], out};
        size_t sizes[] = {sizeof d, d.data ? 4 * d.n : 0, offsetof(struct descriptor, data), sizeof out};
        region(private_array, 4, addrs, sizes, kinds);
        check(out[0] == (!cases[i].there ? -1 : cases[i].n ? 321 : 0), cases[i].what);
        check(d.n == cases[i].n && d.data == (cases[i].there ? values : 0), "the descriptor is as before");
        check(values[0] == 1 && values[1] == 20 && values[2] == 300, "the array is as before");
    }
}

static void two_arrays(void *p) {
    void **a = p;
    struct descriptor *d = a[0], *e = a[3];
    int *out = a[6];
    out[0] = a[7] == 0 && a[8] == 0;
    out[1] = d->data[0] + e->data[0];
    d->data[0] = e->data[0] = -1;
}

// Two private arrays and an optional argument that is not there.
static void more_private_arrays(void) {
    unsigned short kinds[] = {FIRSTPRIVATE | ALIGNED, FIRSTPRIVATE | ALIGNED, ATTACH,
                              FIRSTPRIVATE | ALIGNED, FIRSTPRIVATE | ALIGNED, ATTACH,
                              FROM | ALIGNED, FIRSTPRIVATE | ALIGNED, FIRSTPRIVATE | ALIGNED, ATTACH};
    int one[100], two[100], out[2];
    for (int i = 0; i < 100; i++) one[i] = 5 + i, two[i] = 70 + i;
    struct descriptor d = {one, 100, 1}, e = {two, 100, 1};
    void *addrs[10] = {&d, one, &addrs[0], &e, two, &addrs[3], out, 0, 0, 0};
    size_t sizes[] = {sizeof d, sizeof one, 0, sizeof e, sizeof two, 0, sizeof out, sizeof d, 0, 0};
    region(two_arrays, 10, addrs, sizes, kinds);
    check(out[0] && out[1] == 75 && one[0] == 5 && two[0] == 70, "two private arrays");
}

enum { ROWS = 4, COLUMNS = 5 };

static void rows(void *p) {
    int **row = *(int ***)p, *out = ((void **)p)[1];
    out[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) out[0] += row[i][j];
        row[i][0] = 100 + i;
    }
}

static void iterators(int device) {
    int table[ROWS][COLUMNS], *row[ROWS], out[1], *pointer = table[0];
    for (int i = 0; i < ROWS * COLUMNS; i++) table[i / COLUMNS][i % COLUMNS] = i;
    for (int i = 0; i < ROWS; i++) {
        row[i] = malloc(sizeof table[i]);
        memcpy(row[i], table[i], sizeof table[i]);
    }
    void *data[1 + 2 * ROWS] = {(void *)ROWS}, *pointers[1 + 2 * ROWS] = {(void *)ROWS}, *none[1] = {0};
    for (int i = 0; i < ROWS; i++) {
        data[1 + 2 * i] = row[i], data[2 + 2 * i] = (void *)sizeof table[i];
        pointers[1 + 2 * i] = &row[i], pointers[2 + 2 * i] = 0;
    }
    unsigned short kinds[] = {TO | ALIGNED, FROM | ALIGNED, TO | ALIGNED, TO | ALIGNED, TOFROM | 2 << 8,
                              ATTACH, ATTACH};
    // The fourth has no items; the sixth is a pointer that does not depend on the iterator.
    void *addrs[] = {row, out, &pointer, none, data, &pointer, pointers};
    size_t sizes[] = {sizeof row, sizeof out, sizeof pointer, ITERATED, ITERATED, ITERATED, ITERATED};
    // What that pointer points to is mapped.
    void *whole[] = {table};
    size_t bytes[] = {sizeof table};
    unsigned short to[] = {TO | ALIGNED}, release[] = {RELEASE};
    GOMP_target_enter_exit_data(-1, 1, whole, bytes, to, 0, 0);
    region(rows, 7, addrs, sizes, kinds);
    check(out[0] == ROWS * COLUMNS * (ROWS * COLUMNS - 1) / 2, "rows of an iterator");
    for (int i = 0; i < ROWS; i++) check(row[i][0] == 100 + i && row[i][1] == table[i][1], "rows come back");
    GOMP_target_enter_exit_data(-1, 1, whole, bytes, release, EXIT, 0);

    // enter data, update, exit data.
    void *stay[] = {row, data, pointers}, *move[] = {data}, *leave[] = {pointers, data, row};
    size_t stay_sizes[] = {sizeof row, ITERATED, ITERATED}, leave_sizes[] = {ITERATED, ITERATED, sizeof row};
    unsigned short stay_kinds[] = {TO | ALIGNED, TO | 2 << 8, ATTACH}, from[] = {FROM | 2 << 8};
    unsigned short leave_kinds[] = {DETACH, RELEASE, RELEASE};
    GOMP_target_enter_exit_data(-1, 3, stay, stay_sizes, stay_kinds, 0, 0);
    for (int i = 0; i < ROWS; i++) row[i][0] = 1;
    void *again[] = {row, out};
    size_t again_sizes[] = {sizeof row, sizeof out};
    unsigned short again_kinds[] = {ALLOC | ALIGNED, FROM | ALIGNED}, update_to[] = {TO | 2 << 8};
    GOMP_target_update_ext(-1, 1, move, leave_sizes, update_to, 0, 0);
    region(rows, 2, again, again_sizes, again_kinds);
    check(out[0] == 190 - (0 + 5 + 10 + 15) + ROWS, "update of an iterator's rows");
    check(row[0][0] == (device ? 1 : 100), "nothing comes back by itself");
    GOMP_target_update_ext(-1, 1, move, leave_sizes, from, 0, 0);
    for (int i = 0; i < ROWS; i++) check(row[i][0] == 100 + i, "update from");
    GOMP_target_enter_exit_data(-1, 3, leave, leave_sizes, leave_kinds, EXIT, 0);
    for (int i = 0; i < ROWS; i++) free(row[i]);
}

struct part { int a, *p, *q; };

static void parts(void *p) {
    struct part *s = ((void **)p)[0];
    s[1].p[1] = s[7].q[1] + 1;
}

static void any_order(void) {
    struct part s[10];
    int p[10] = {0}, q[10] = {0, 41};
    s[1].p = p, s[7].q = q;
    void *addrs[] = {s, &s[7].q, &s[1].p, q, p, &s[7].q, &s[1].p};
    size_t sizes[] = {2, 8, 8, sizeof q, sizeof p, 0, 0};
    unsigned short kinds[] = {STRUCT_UNORDERED | ALIGNED, ALLOC | ALIGNED, ALLOC | ALIGNED, TOFROM | ALIGNED,
                              TOFROM | ALIGNED, ATTACH, ATTACH};
    region(parts, 7, addrs, sizes, kinds);
    check(p[1] == 42 && s[1].p == p && s[7].q == q, "members in any order");
}

static void twice(void *p) {
    int *x = *(int **)p;
    for (int i = 0; i < 10; i++) x[i] *= 2;
}

static int x[10];

static void present(void) {
    void *addrs[] = {x};
    size_t sizes[] = {sizeof x};
    unsigned short to[] = {TO | ALIGNED}, there[] = {FORCE_PRESENT | ALIGNED};
    unsigned short again[] = {ALWAYS_PRESENT_TO | ALIGNED}, back[] = {ALWAYS_PRESENT_FROM | ALIGNED};
    GOMP_target_enter_exit_data(-1, 1, addrs, sizes, to, 0, 0);
    for (int i = 0; i < 10; i++) x[i] = i + 1;
    region(twice, 1, addrs, sizes, again);
    GOMP_target_update_ext(-1, 1, addrs, sizes, back, 0, 0);
    check(x[9] == 20, "always, present, to");
    region(twice, 1, addrs, sizes, there);
    GOMP_target_enter_exit_data(-1, 1, addrs, sizes, back, EXIT, 0);
    check(x[9] == 40, "always, present, from");
}

int main(int n, char **arg) {
    void *addrs[] = {x};
    size_t sizes[] = {sizeof x};
    unsigned short to[] = {ALWAYS_PRESENT_TO | ALIGNED}, from[] = {ALWAYS_PRESENT_FROM | ALIGNED};
    const char *how = n > 1 ? arg[1] : "";
    if (!strcmp(how, "map")) region(twice, 1, addrs, sizes, to);
    if (!strcmp(how, "update")) GOMP_target_update_ext(-1, 1, addrs, sizes, to, 0, 0);
    if (!strcmp(how, "exit")) GOMP_target_enter_exit_data(-1, 1, addrs, sizes, from, EXIT, 0);
    private_arrays();
    more_private_arrays();
    iterators(!strcmp(how, "device"));
    any_order();
    present();
    puts(failures ? "wrong" : "right");
    return failures != 0;
}
