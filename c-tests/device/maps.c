/* Maps of every kind, checked with the values of OpenMP 5.0: `shared`: the device's memory is the host's. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };
static int failures, shared;
static void check(int ok, const char *what) {
    if (!ok) failures++, printf("WRONG %s\n", what);
}
struct list { int n; double *data; struct { float *inner; int len; } sub; };
#pragma omp declare target
static int global_counter = 5;
static int twice(int x) { return 2 * x; }
#pragma omp end declare target

static void sections(void) {
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    for (int i = 0; i < N; i++) a[i] = i, b[i] = -1;
#pragma omp target map(to : a[0:N]) map(from : b[0:N])
    for (int i = 0; i < N; i++) b[i] = 2 * a[i];
    int ok = 1;
    for (int i = 0; i < N; i++) ok &= b[i] == 2.0 * i;
    check(ok, "to and from");
#pragma omp target map(tofrom : a[100:50])
    for (int i = 100; i < 150; i++) a[i] = -a[i];
    ok = 1;
    for (int i = 0; i < N; i++) ok &= a[i] == (i >= 100 && i < 150 ? -i : i);
    check(ok, "a part of an array");
    /* alloc and to do not bring anything back */
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target map(to : a[0:N])
    for (int i = 0; i < N; i++) a[i] = 0;
    check(a[7] == (shared ? 0 : 7), "to stays on the device");
    free(a), free(b);
}
static void data_regions(void) {
    int x = 1, y[N], z = 3;
    for (int i = 0; i < N; i++) y[i] = i;
#pragma omp target data map(tofrom : x) map(to : y)
    {
        x = 10; /* not seen by the device */
        y[0] = 77;
#pragma omp target map(alloc : x, y) map(from : z)
        { z = x + y[0]; x = 5; }
        check(z == (shared ? 87 : 1), "present data are used as they are");
        check(x == (shared ? 5 : 10), "nothing comes back inside of the construct");
#pragma omp target update from(x)
        check(x == 5, "update from");
        y[0] = 99;
#pragma omp target update to(y[0:10])
#pragma omp target map(from : z)
        z = y[0];
        check(z == 99, "update to");
        x = 42;
#pragma omp target map(always, tofrom : x)
        x++;
        check(x == 43, "always");
    }
    check(x == 43, "tofrom at the end of data");
    int w = 4;
#pragma omp target enter data map(to : w)
#pragma omp target enter data map(to : w)
    w = 9;
#pragma omp target map(alloc : w)
    w += 10;
#pragma omp target exit data map(from : w)
    check(w == (shared ? 19 : 9), "still one reference");
#pragma omp target exit data map(from : w)
    check(w == (shared ? 19 : 14), "the last reference brings it back");
#pragma omp target enter data map(to : w)
#pragma omp target enter data map(to : w)
#pragma omp target exit data map(delete : w)
    check(omp_target_is_present(&w, omp_get_default_device()) == shared, "delete takes all references");
}
static void scalars(void) {
    int i = 3, sum = 0;
    double d = 1.5;
    struct { int a; double b; } s = {1, 2};
#pragma omp target firstprivate(i, d, s) map(from : sum)
    { i++, d *= 2, s.a += 10; sum = i + (int)d + s.a; }
    check(sum == 4 + 3 + 11 && i == 3 && d == 1.5 && s.a == 1, "firstprivate");
    int r = 0;
#pragma omp target teams distribute parallel for reduction(+ : r) map(tofrom : r)
    for (int k = 0; k < 100; k++) r += twice(k);
    check(r == 9900, "reduction");
    global_counter = 6;
#pragma omp target update to(global_counter)
#pragma omp target
    global_counter++;
#pragma omp target update from(global_counter)
    check(global_counter == 7, "declare target");
}
static void structures(void) {
    struct list l = {.n = N};
    l.data = malloc(N * sizeof *l.data);
    l.sub.inner = malloc(10 * sizeof(float));
    l.sub.len = 10;
    for (int i = 0; i < N; i++) l.data[i] = i;
    for (int i = 0; i < 10; i++) l.sub.inner[i] = i;
    double *host = l.data;
#pragma omp target map(tofrom : l, l.data[0:N], l.sub.inner[0:10])
    {
        for (int i = 0; i < N; i++) l.data[i] += 1;
        for (int i = 0; i < 10; i++) l.sub.inner[i] *= 3;
        l.n = -1;
    }
    check(l.data == host && l.n == -1, "members come back, pointers stay the host's");
    check(l.data[500] == 501 && l.sub.inner[9] == 27, "what members point to");
#pragma omp target enter data map(to : l) map(to : l.data[0:N])
#pragma omp target map(alloc : l, l.data[0:N])
    for (int i = 0; i < N; i++) l.data[i] *= 2;
#pragma omp target exit data map(from : l.data[0:N]) map(release : l)
    check(l.data[500] == 1002, "attached in enter data");
    free(l.data), free(l.sub.inner);
}
static void pointers(void) {
    int dev = omp_get_default_device(), host = omp_get_initial_device();
    int *p = malloc(N * sizeof *p), *q = NULL, r = 0;
    for (int i = 0; i < N; i++) p[i] = i;
    int n = 0;
#pragma omp target map(to : p[0:n]) map(from : r)
    r = p == NULL;
    check(r == !shared, "an empty section that is not there");
#pragma omp target data map(to : p[0:N])
    {
#pragma omp target map(from : r)
        r = p[N - 1];
        check(r == N - 1, "a pointer finds its section");
#pragma omp target data use_device_ptr(p)
        q = p;
        check(shared ? q == p : q != p, "use_device_ptr");
        int back[4] = {0};
        check(!omp_target_memcpy(back, q, sizeof back, 0, 4 * sizeof(int), host, dev), "memcpy");
        check(back[3] == 7, "what it has copied");
#pragma omp target is_device_ptr(q)
        q[0] = 1234;
#pragma omp target update from(p[0:1])
        check(p[0] == 1234, "is_device_ptr");
        int *in = p + 10;
#pragma omp target map(from : r)
        r = in[5];
        check(r == 15, "a pointer into the middle");
    }
    int *raw = omp_target_alloc(100 * sizeof *raw, dev);
    check(raw != NULL, "omp_target_alloc");
#pragma omp target is_device_ptr(raw)
    for (int i = 0; i < 100; i++) raw[i] = i * i;
    int mine[100] = {0};
    check(!omp_target_memcpy(mine, raw, sizeof mine, 0, 0, host, dev) && mine[99] == 9801, "from the device");
    size_t volume[2] = {3, 2}, to[2] = {1, 1}, from[2] = {0, 3}, dims_to[2] = {5, 4}, dims_from[2] = {10, 10};
    int box[5][4] = {{0}};
    check(!omp_target_memcpy_rect(box, raw, sizeof(int), 2, volume, to, from, dims_to, dims_from, host, dev),
          "rect");
    check(box[1][1] == 9 && box[3][2] == 24 * 24 && box[0][0] == 0, "the box");
    if (!shared) {
        check(!omp_target_associate_ptr(mine, raw, sizeof mine, 0, dev), "associate");
        mine[3] = -1;
#pragma omp target map(from : r)
        r = mine[3];
        check(r == 9, "associated memory is used");
#pragma omp target update to(mine)
#pragma omp target map(from : r)
        r = mine[3];
        check(r == -1, "and updated");
        check(!omp_target_disassociate_ptr(mine, dev), "disassociate");
        check(!omp_target_is_present(mine, dev), "gone");
    }
    omp_target_free(raw, dev);
    free(p);
}
static void queries(void) {
    int here = -1, dev = -1;
#pragma omp target map(from : here, dev)
    { here = omp_is_initial_device(); dev = omp_get_device_num(); }
    check(here == shared, "where a region runs");
    check(dev == (shared ? omp_get_initial_device() : omp_get_default_device()), "the number there");
    for (int d = 0; d < omp_get_num_devices(); d++) {
#pragma omp target map(from : dev) device(d)
        dev = omp_get_device_num();
        check(dev == d, "device clause");
    }
#pragma omp target map(from : here) device(omp_get_initial_device())
    here = omp_is_initial_device();
    check(here == 1, "the host as a device");
#pragma omp target map(from : here) if (0)
    here = omp_is_initial_device();
    check(here == 1, "if(0)");
    int a = 0, b = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait depend(out : a) map(tofrom : a)
        a = 1;
#pragma omp target nowait depend(in : a) depend(out : b) map(to : a) map(tofrom : b)
        b = a + 1;
#pragma omp task depend(in : b) shared(b)
        b += 10;
#pragma omp taskwait
    }
    check(b == 12, "nowait and depend");
    int many[8] = {0};
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 8; i++) {
        int v = i;
        for (int k = 0; k < 20; k++) {
#pragma omp target map(tofrom : v)
            v++;
        }
        many[i] = v;
    }
    int ok = 1;
    for (int i = 0; i < 8; i++) ok &= many[i] == i + 20;
    check(ok, "regions from several threads");
    int inner = 0;
#pragma omp target map(tofrom : inner)
    {
        int t = 0;
#pragma omp parallel num_threads(3) reduction(+ : t)
        t += 1 + 10 * omp_is_initial_device();
        inner = t;
    }
    check(inner % 10 > 0 && (inner >= 10) == shared, "a region inside of a region");
}
int main(void) {
#pragma omp target map(from : shared)
    shared = omp_is_initial_device();
    printf("devices %d, %s\n", omp_get_num_devices(), shared ? "host" : "separate");
    sections(), data_regions(), scalars(), structures(), pointers(), queries();
    puts(failures ? "failed" : "all right");
    return failures != 0;
}
