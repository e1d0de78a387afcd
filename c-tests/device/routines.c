/* The memory routines: what they answer and what they move, between the host and each of two devices. What
 * libgomp 12 does not have is compared with what it stands for. */
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEAK __attribute__((weak))
extern WEAK void *omp_get_mapped_ptr(const void *, int);
extern WEAK int omp_target_is_accessible(const void *, size_t, int);
extern WEAK int omp_target_memcpy_async(void *, const void *, size_t, size_t, size_t, int, int, int,
                                        omp_depend_t *);
extern WEAK int omp_target_memcpy_rect_async(void *, const void *, size_t, int, const size_t *,
                                             const size_t *, const size_t *, const size_t *, const size_t *,
                                             int, int, int, omp_depend_t *);
enum { N = 120, BYTES = N * sizeof(int) };
static int host;

static unsigned sum(const int *p) {
    unsigned s = 1;
    for (int i = 0; i < N; i++) s = 31 * s + p[i];
    return s;
}
/* N ints on a device: -1, or 1, 2, 3... */
static int *field(int device, int numbered) {
    int here[N], *p = omp_target_alloc(BYTES, device);
    for (int i = 0; i < N; i++) here[i] = numbered ? i + 1 : -1;
    if (!p || omp_target_memcpy(p, here, BYTES, 0, 0, device, host)) exit(3);
    return p;
}
static unsigned fetched(const int *p, int device) {
    int here[N];
    if (omp_target_memcpy(here, p, BYTES, 0, 0, host, device)) exit(4);
    return sum(here);
}
/* A box of the first dimensions of 3 x 4 x 10 into one of 4 x 5 x 6. */
static int box(int *to, const int *from, int dims, int d, int s, int late, omp_depend_t *after) {
    const size_t volume[] = {2, 3, 4}, to_at[] = {1, 1, 2}, from_at[] = {1, 0, 5}, to_all[] = {4, 5, 6},
                 from_all[] = {3, 4, 10};
    if (late)
        return omp_target_memcpy_rect_async(to, from, sizeof(int), dims, volume, to_at, from_at, to_all,
                                            from_all, d, s, after != NULL, after);
    return omp_target_memcpy_rect(to, from, sizeof(int), dims, volume, to_at, from_at, to_all, from_all, d,
                                  s);
}
static void moves(int d, int s) {
    static unsigned last;
    int *to = field(d, 0), *from = field(s, 1);
    if (d == s || d == host || s == host) {
        printf("%d from %d:", d, s);
        printf(" %d", omp_target_memcpy(to, from, 40, 8, 16, d, s));
        printf(" %u", fetched(to, d));
        for (int dims = 1; dims <= 3; dims++) {
            printf(" %d", box(to, from, dims, d, s, 0, NULL));
            printf(" %u", last = fetched(to, d));
        }
        puts("");
    } else if (omp_target_memcpy_async) {
        /* Between two devices libgomp 12 copies nothing. */
        int wrong = omp_target_memcpy(to, from, 40, 8, 16, d, s);
        for (int dims = 1; dims <= 3; dims++) wrong |= box(to, from, dims, d, s, 0, NULL);
        if (wrong || fetched(to, d) != last) printf("WRONG %d from %d\n", d, s);
    }
    if (omp_target_memcpy_async && omp_target_memcpy_rect_async) {
        const unsigned want = last;
        int *other = field(d, 0), first = 0, done = 0;
        omp_depend_t after;
#pragma omp depobj(after) depend(inout : first)
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task depend(out : first) shared(done)
            done = 1;
            int wrong = omp_target_memcpy_async(other, from, 40, 8, 16, d, s, 1, &after);
            wrong |= !done;
            for (int dims = 1; dims <= 3; dims++) wrong |= box(other, from, dims, d, s, 1, &after);
            if (wrong || fetched(other, d) != want) puts("WRONG asynchronous copies");
        }
#pragma omp depobj(after) destroy
        omp_target_free(other, d);
    }
    omp_target_free(to, d), omp_target_free(from, s);
}
static void associations(int d) {
    int mine[N] = {0}, other[N] = {0}, *there = field(d, 1), *more = field(d, 1), got = 0;
    printf("associations on %d:", d);
    printf(" %d", omp_target_is_present(mine, d));
    printf(" %d", omp_target_associate_ptr(mine, there, BYTES / 2, 40, d) != 0);
    printf(" %d", omp_target_is_present(mine, d));
    /* Once more, elsewhere, more of it. */
    printf(" %d", omp_target_associate_ptr(mine, there, BYTES / 2, 40, d) != 0);
    printf(" %d", omp_target_associate_ptr(mine, more, BYTES / 2, 40, d) != 0);
    printf(" %d", omp_target_associate_ptr(mine + 50, more, BYTES / 2, 40, d) != 0);
#pragma omp target device(d) map(always, from : mine[0 : 20]) map(from : got)
    got = mine[5], mine[6] = 600;
    printf(" %d %d", got, mine[6]);
    if (omp_get_mapped_ptr && d != host && omp_get_mapped_ptr(mine + 1, d) != (char *)there + 44)
        puts("WRONG omp_get_mapped_ptr");
    if (omp_get_mapped_ptr && (omp_get_mapped_ptr(other, d) || omp_get_mapped_ptr(other, host) != other))
        puts("WRONG omp_get_mapped_ptr of what is not mapped");
    /* Neither what is associated in the middle, nor what a clause has mapped, nor nothing. */
    printf(" %d", omp_target_disassociate_ptr(mine + 1, d) != 0);
#pragma omp target data device(d) map(to : other)
    printf(" %d %d", omp_target_is_present(other, d), omp_target_disassociate_ptr(other, d) != 0);
    printf(" %d", omp_target_disassociate_ptr(other, d) != 0);
    printf(" %d", omp_target_disassociate_ptr(mine, d) != 0);
    printf(" %d", omp_target_is_present(mine, d));
    printf(" %d\n", omp_target_disassociate_ptr(mine, d) != 0);
    omp_target_free(there, d), omp_target_free(more, d);
}
static void wrong(void) {
    int here[N] = {0}, none = host + 5;
    const size_t one[] = {1};
    printf("wrong:");
    printf(" %d", omp_target_memcpy(here, here, 4, 0, 0, none, host) != 0);
    printf(" %d", omp_target_memcpy(here, here, 4, 0, 0, host, -7) != 0);
    printf(" %d", omp_target_memcpy_rect(here, here, 4, 1, one, one, one, one, one, none, host) != 0);
    printf(" %d", omp_target_memcpy_rect(NULL, NULL, 4, 1, one, one, one, one, one, host, host) == INT_MAX);
    printf(" %d", omp_target_memcpy_rect(NULL, NULL, 4, 9, one, one, one, one, one, 0, 1) == INT_MAX);
    void *empty = omp_target_alloc(0, host);
    printf(" %d %d", omp_target_alloc(8, none) == NULL, empty == NULL);
    omp_target_free(empty, host);
    printf(" %d", omp_target_is_present(here, none));
    printf(" %d", omp_target_associate_ptr(here, here, 8, 0, none) != 0);
    printf(" %d", omp_target_associate_ptr(here, here, 8, 0, host) != 0);
    printf(" %d\n", omp_target_disassociate_ptr(here, none) != 0);
    omp_target_free(NULL, 0), omp_target_free(here, none);
    if (omp_target_is_accessible &&
        (!omp_target_is_accessible(here, 8, host) || omp_target_is_accessible(NULL, 8, host) ||
         omp_target_is_accessible(here, 8, 0) || omp_target_is_accessible(here, 8, none)))
        puts("WRONG omp_target_is_accessible");
}
/* Each task has its own default device, and data live on each device by themselves. */
static void defaults(int n) {
    int x = 1, on = -1, inside = -1, number = 10;
#pragma omp target enter data map(to : number) device(0)
    number = 11;
#pragma omp target enter data map(to : number) device(1)
    number = 12;
    omp_set_default_device(1);
#pragma omp target map(from : on) map(alloc : number)
    on = number;
    printf("default %d, region on %d", omp_get_default_device(), on);
#pragma omp parallel num_threads(2) shared(inside)
#pragma omp single
    {
        omp_set_default_device(0);
#pragma omp target map(from : inside) map(alloc : number)
        inside = number;
    }
    printf(", in a team %d, then %d of %d\n", inside, omp_get_default_device(), n);
#pragma omp target enter data map(to : x) device(0)
    x = 2;
#pragma omp target enter data map(to : x) device(1)
    x = 3;
#pragma omp target device(0) map(alloc : x)
    x += 10;
#pragma omp target device(1) map(alloc : x)
    x += 100;
#pragma omp target update from(x) device(0)
    printf("each has its own: %d", x);
#pragma omp target exit data map(from : x) device(1)
    printf(" %d %d %d\n", x, omp_target_is_present(&x, 0), omp_target_is_present(&x, 1));
#pragma omp target exit data map(release : x) device(0)
    omp_set_default_device(0);
}
/* What is deleted within a construct and mapped again is the construct's to take away. */
static void again(void) {
    int x = 1;
#pragma omp target data map(tofrom : x)
    {
#pragma omp target exit data map(delete : x)
        printf("deleted: %d", omp_target_is_present(&x, 0));
        x = 5;
    }
    printf(" %d %d\n", x, omp_target_is_present(&x, 0));
}
int main(void) {
    host = omp_get_initial_device();
    const int n = omp_get_num_devices();
    printf("%d devices, host %d\n", n, host);
    for (int d = 0; d <= n; d++)
        for (int s = 0; s <= n; s++) moves(d, s);
    for (int d = 0; d < n; d++) associations(d);
    wrong(), defaults(n), again();
    return 0;
}
