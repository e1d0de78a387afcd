/* Who holds what is mapped, and what pointers in it point to (OpenMP 5.0, sections 2.19.7 and 2.12). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int failures, shared, device;
static void check(int ok, const char *what) {
    if (!ok) failures++, printf("WRONG %s\n", what);
}
static int there(const void *p) { return omp_target_is_present(p, device); }
struct pair { int a, b, c; };
struct holder { int n; int *data; int m; };

#pragma omp declare target
static int declared[4] = {1, 2, 3, 4}, *pointer;
static void change(void) { declared[2] += 10; }
#pragma omp end declare target

static void counts(void) {
    int x = 7;
    char *p = (char *)&x, *q = p + 2;
#pragma omp target enter data map(to : x)
#pragma omp target enter data map(alloc : p[:1], q[:1])
#pragma omp target exit data map(release : x)
    check(there(p) && there(q), "two users, one left");
#pragma omp target exit data map(release : q[:1])
    check(shared || !there(p), "two items of a directive are one user");
#pragma omp target enter data map(to : x)
#pragma omp target enter data map(to : x)
#pragma omp target exit data map(delete : x)
    check(shared || !there(&x), "delete");
}
static void members(void) {
    struct pair s = {1, 2, 3};
#pragma omp target enter data map(to : s.a, s.c)
#pragma omp target enter data map(to : s.a)
#pragma omp target exit data map(release : s.c)
    check(there(&s.a) && there(&s.c), "members are held together");
#pragma omp target exit data map(release : s.c)
    check(shared || (!there(&s.a) && !there(&s.c)), "members leave together");
}
static void nothing(void) {
    int a[20], n = 0, at_end, inside, outside;
    int *end = a + 10, *in = a + 5, *out = a + 15;
#pragma omp target data map(to : a[0:10])
    {
#pragma omp target map(alloc : end[:n], in[:n], out[:n]) map(from : at_end, inside, outside)
        { at_end = end != NULL; inside = in != NULL; outside = out != NULL; }
    }
    check(inside && at_end == shared && outside == shared, "sections without elements");
}
static void attached(void) {
    int data[10];
    for (int i = 0; i < 10; i++) data[i] = i;
    struct holder s = {1, data, 2};
#pragma omp target enter data map(to : s) map(to : s.data[4:3])
    s.n = 10, s.m = 20, data[5] = 50;
#pragma omp target update to(s, data[4:3])
#pragma omp target map(alloc : s)
    { s.n += s.data[5]; s.m += s.data[6]; s.data[4] = -1; }
#pragma omp target update from(s)
    check(s.n == 60 && s.m == 26 && s.data == data, "update around an attached pointer");
#pragma omp target exit data map(from : data[4:3]) map(from : s)
    check(data[4] == -1 && s.data == data && s.n == 60, "the host's pointer stays");
}
static void variables(void) {
    declared[0] = 5;
#pragma omp target map(always, tofrom : declared)
    { change(); declared[3] = declared[0]; }
    check(declared[2] == 13 && declared[3] == 5, "declare target, mapped");
    int values[6] = {1, 2, 3, 4, 5, 6};
    pointer = values;
#pragma omp target map(tofrom : pointer[0:6])
    for (int i = 0; i < 6; i++) pointer[i] *= 2;
    check(pointer == values && values[5] == 12, "a pointer of declare target");
#pragma omp target enter data map(to : pointer[0:6])
    values[0] = 100;
    check(*pointer == 100, "the host has its own pointer");
#pragma omp target
    pointer[1] = pointer[0];
#pragma omp target exit data map(from : pointer[0:6])
    check(pointer == values && values[1] == (shared ? 100 : 2), "the device has its own pointer");
}
/* With any argument: without variables of declare target. */
int main(int argc, char **argv) {
    shared = 0;
#pragma omp target map(to : shared)
    shared = 1;
    device = omp_get_default_device();
    counts(), members(), nothing(), attached();
    if (argc == 1) variables();
    puts(failures ? "failed" : "all right");
    return failures != 0;
}
