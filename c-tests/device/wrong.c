/* Right on the host alone: what the argument names is not mapped, or is used on the wrong side. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void GOMP_target_enter_exit_data(int, size_t, void **, size_t *, unsigned short *, unsigned, void **);
void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned, void **,
                     void **);

static void nothing(void *p) { (void) p; }

/* What a newer compiler may write. */
static void kind(const char *construct, double *a) {
    void *addrs[] = {a}, *none[] = {NULL};
    size_t sizes[] = {80};
    unsigned short kinds[] = {0x37e};
    if (!strcmp(construct, "region"))
        GOMP_target_ext(-1, nothing, 1, addrs, sizes, kinds, 0, NULL, none);
    else
        GOMP_target_enter_exit_data(-1, 1, addrs, sizes, kinds, !strcmp(construct, "exit") ? 2 : 0, NULL);
}

struct node { double *data; struct node *next; };
int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    enum { N = 100000 };
    double *a = malloc(N * sizeof *a), *b = malloc(100 * sizeof *b), sum = 0;
    for (int i = 0; i < N; i++) a[i] = 1;
    for (int i = 0; i < 100; i++) b[i] = 2;
    struct node *n = malloc(sizeof *n);
    *n = (struct node){a, NULL};
    if (argc > 2) {
        kind(what, a);
    } else if (!strcmp(what, "pointer")) { /* the structure is mapped, what it points to is not */
#pragma omp target map(to : n[0:1]) map(tofrom : sum)
        for (int i = 0; i < N; i++) sum += n->data[i];
    } else if (!strcmp(what, "small")) { /* as before, a small block */
        n->data = b;
#pragma omp target map(to : n[0:1]) map(tofrom : sum)
        for (int i = 0; i < 100; i++) sum += n->data[i];
    } else if (!strcmp(what, "write")) {
#pragma omp target map(to : n[0:1])
        n->data[5] = 7;
        sum = n->data[5];
    } else if (!strcmp(what, "host")) { /* the host uses the device's memory */
        double *d = omp_target_alloc(100 * sizeof *d, omp_get_default_device());
#pragma omp target is_device_ptr(d)
        d[3] = 4;
        sum = d[3];
    } else if (!strcmp(what, "partly")) { /* more than is there */
#pragma omp target enter data map(to : a[0:10])
#pragma omp target map(to : a[0:20]) map(tofrom : sum)
        for (int i = 0; i < 20; i++) sum += a[i];
    } else if (!strcmp(what, "from")) { /* nothing is brought to the device: what it finds is nobody's */
#pragma omp target map(from : b[0:100]) map(tofrom : sum)
        for (int i = 0; i < 100; i++) sum += b[i];
    } else if (!strcmp(what, "own")) { /* right: a block that a region gets is the device's in the next one */
        double *own = NULL;
#pragma omp target map(tofrom : own)
        {
            own = malloc(N * sizeof *own);
            for (int i = 0; i < N; i++) own[i] = 0.002;
        }
#pragma omp target map(tofrom : own, sum)
        {
            for (int i = 0; i < N; i++) sum += own[i];
            free(own);
        }
        sum = (int) (sum + 0.5);
    } else { /* right */
#pragma omp target map(to : a[0:N], b[0:100]) map(tofrom : sum)
        {
            for (int i = 0; i < N; i++) sum += a[i];
            for (int i = 0; i < 100; i++) sum += b[i];
            void *p = malloc(100); /* a library's function may use the heap */
            free(p);
        }
        sum -= N;
    }
    printf("%g\n", sum);
    return 0;
}
