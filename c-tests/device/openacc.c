/* OpenACC: data, update, queues, routines, checked by their values. `shared`: there is no other memory. */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 3000 };
static int failures, shared;
static void check(int ok, const char *what) {
    if (!ok) failures++, printf("WRONG %s\n", what);
}
struct box { int n; float *v; };
int main(void) {
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    int ok = 1, sum = 0;
    shared = acc_get_device_type() == acc_device_host;
    for (int i = 0; i < N; i++) a[i] = i, b[i] = -1;
#pragma acc parallel loop copyin(a[0 : N]) copyout(b[0 : N])
    for (int i = 0; i < N; i++) b[i] = 2 * a[i];
    for (int i = 0; i < N; i++) ok &= b[i] == 2.0f * i;
    check(ok, "copyin and copyout");
#pragma acc data copy(a[0 : N]) create(b[0 : N])
    {
#pragma acc parallel loop present(a[0 : N], b[0 : N])
        for (int i = 0; i < N; i++) b[i] = a[i] + 1;
#pragma acc parallel loop present(a[0 : N], b[0 : N])
        for (int i = 0; i < N; i++) a[i] = b[i] * 2;
        check((a[5] == 12) == shared, "nothing comes back inside of data");
#pragma acc update self(a[0 : 10])
        check(a[5] == 12, "update self");
        a[6] = 100;
#pragma acc update device(a[6 : 1])
#pragma acc parallel loop present(a[0 : N])
        for (int i = 0; i < N; i++) a[i] += 1;
        check(acc_is_present(a, N * sizeof *a) && acc_is_present(b, 8), "present");
    }
    check(a[6] == 101 && a[5] == 13 && a[2999] == 6001, "copy at the end of data");
    check(acc_is_present(a, 4) == shared, "gone");
#pragma acc parallel loop reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += i;
    check(sum == 499500, "reduction");
#pragma acc enter data copyin(a[0 : N])
#pragma acc enter data copyin(a[0 : N])
    for (int i = 0; i < N; i++) a[i] = 0;
#pragma acc parallel loop present(a[0 : N]) async(1)
    for (int i = 0; i < N; i++) a[i] = i;
#pragma acc parallel loop present(a[0 : N]) async(2) wait(1)
    for (int i = 0; i < N; i++) a[i] += 1;
#pragma acc wait
    check(acc_async_test_all(), "all queues are idle");
#pragma acc exit data copyout(a[0 : N])
    check((a[7] == 8) == shared, "still one reference");
#pragma acc exit data copyout(a[0 : N])
    check(a[7] == 8 && a[2999] == 3000, "the last one brings it back");
#pragma acc enter data copyin(a[0 : N])
#pragma acc enter data copyin(a[0 : N])
#pragma acc exit data delete(a[0 : N]) finalize
    check(acc_is_present(a, 4) == shared, "finalize");
    struct box x = {N, malloc(N * sizeof(float))};
    for (int i = 0; i < N; i++) x.v[i] = 1;
#pragma acc enter data copyin(x) copyin(x.v[0 : N])
#pragma acc parallel loop present(x)
    for (int i = 0; i < N; i++) x.v[i] += x.n;
#pragma acc exit data copyout(x.v[0 : N])
#pragma acc exit data delete(x)
    check(x.v[10] == N + 1, "a pointer in a structure");
    /* each member that a directive names is one reference more to the structure */
#pragma acc enter data copyin(x)
#pragma acc enter data copyin(x.n, x.v[0 : N])
    for (int i = 0; i < 3; i++) acc_attach((void **)&x.v);
    for (int i = 0; i < 3; i++) acc_detach((void **)&x.v);
#pragma acc exit data delete(x.v[0 : N])
#pragma acc exit data delete(x.n)
    check(acc_is_present(&x, sizeof x), "references of members");
#pragma acc exit data delete(x)
    check(acc_is_present(&x, sizeof x) == shared, "the last reference");
    int left = 0;
    void *p = a;
#pragma acc data no_create(a[0 : N])
    left = acc_is_present(a, N * sizeof *a);
    check(left == shared, "no_create creates nothing");
    acc_copyin(a, N * sizeof *a);
    acc_delete(p, 0), acc_copyout_finalize(p, 0);
    check(acc_is_present(a, N * sizeof *a), "what has no bytes takes nothing away");
#pragma acc data no_create(a[0 : N])
#pragma acc parallel present(a[0 : N])
    a[3] = 70;
    acc_copyout(a, N * sizeof *a);
    check(a[3] == 70, "no_create uses what is there");
    float *d = acc_copyin(a, N * sizeof *a);
    check((d == a) == shared && acc_deviceptr(a) == d && acc_hostptr(d) == a, "acc_copyin");
    a[3] = 77;
    acc_update_device(a, 16);
#pragma acc parallel deviceptr(d)
    d[3] += 1;
    acc_update_self(a, 16);
    check(a[3] == 78, "acc_update");
    acc_delete(a, N * sizeof *a);
    float *raw = acc_malloc(64);
    acc_memcpy_to_device(raw, a, 64);
#pragma acc parallel deviceptr(raw)
    raw[1] = raw[3] + 1;
    acc_memcpy_from_device(b, raw, 64);
    check(b[1] == 79 && b[3] == 78, "acc_memcpy");
    acc_free(raw);
    float *seen = NULL;
#pragma acc data copyin(a[0 : N])
#pragma acc host_data use_device(a)
    seen = a;
    check((seen == a) == shared, "host_data");
    int host = 0;
#pragma acc parallel loop if (0) copy(host)
    for (int i = 0; i < 1; i++) host = a[3] == 78;
    check(host, "if(0)");
    printf("%s: %s\n", shared ? "host" : "device", failures ? "failed" : "all right");
    return failures != 0;
}
