/* The OpenACC routines with the host as the only device: each case in a child of its own, since some end the program. */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char a[64], b[64];
static int same(void *p, void *q) { return p == q; }

#define CASES(X)                                                                                                            \
    X(num_none, p("%d", acc_get_num_devices(acc_device_none)))                                                              \
    X(num_host, p("%d", acc_get_num_devices(acc_device_host)))                                                              \
    X(num_default, p("%d", acc_get_num_devices(acc_device_default)))                                                        \
    X(num_not_host, p("%d", acc_get_num_devices(acc_device_not_host)))                                                      \
    X(num_nvidia, p("%d", acc_get_num_devices(acc_device_nvidia)))                                                          \
    X(num_radeon, p("%d", acc_get_num_devices(acc_device_radeon)))                                                          \
    X(num_bad, p("%d", acc_get_num_devices(77)))                                                                            \
    X(num_current, p("%d", acc_get_num_devices(acc_device_current)))                                                        \
    X(type, p("%d", acc_get_device_type()))                                                                                 \
    X(set_host, (acc_set_device_type(acc_device_host), p("%d", acc_get_device_type())))                                     \
    X(set_default, (acc_set_device_type(acc_device_default), p("%d", acc_get_device_type())))                               \
    X(set_none, (acc_set_device_type(acc_device_none), p("%d", acc_get_device_type())))                                     \
    X(set_not_host, (acc_set_device_type(acc_device_not_host), p("%d", acc_get_device_type())))                             \
    X(set_nvidia, (acc_set_device_type(acc_device_nvidia), p("%d", acc_get_device_type())))                                 \
    X(set_radeon, (acc_set_device_type(acc_device_radeon), p("%d", acc_get_device_type())))                                 \
    X(set_bad, (acc_set_device_type(77), p("%d", acc_get_device_type())))                                                   \
    X(set_current, (acc_set_device_type(acc_device_current), p("%d", acc_get_device_type())))                               \
    X(devnum, p("%d", acc_get_device_num(acc_device_host)))                                                                 \
    X(devnum_default, p("%d", acc_get_device_num(acc_device_default)))                                                      \
    X(devnum_current, p("%d", acc_get_device_num(acc_device_current)))                                                      \
    X(devnum_none, p("%d", acc_get_device_num(acc_device_none)))                                                            \
    X(devnum_nvidia, p("%d", acc_get_device_num(acc_device_nvidia)))                                                        \
    X(devnum_not_host, p("%d", acc_get_device_num(acc_device_not_host)))                                                    \
    X(devnum_bad, p("%d", acc_get_device_num(77)))                                                                          \
    X(setnum_0, (acc_set_device_num(0, acc_device_host), p("%d", acc_get_device_num(acc_device_host))))                     \
    X(setnum_1, (acc_set_device_num(1, acc_device_host), p("%d", acc_get_device_num(acc_device_host))))                     \
    X(setnum_neg, (acc_set_device_num(-1, acc_device_host), p("%d", acc_get_device_num(acc_device_host))))                  \
    X(setnum_default, (acc_set_device_num(0, acc_device_default), p("%d", acc_get_device_num(acc_device_host))))            \
    X(setnum_none, (acc_set_device_num(0, acc_device_none), p("%d", acc_get_device_num(acc_device_host))))                  \
    X(setnum_nvidia, (acc_set_device_num(0, acc_device_nvidia), p("%d", acc_get_device_num(acc_device_host))))              \
    X(setnum_bad, (acc_set_device_num(0, 77), p("%d", acc_get_device_num(acc_device_host))))                                \
    X(setnum_type0, (acc_set_device_num(0, 0), p("%d", acc_get_device_type())))                                             \
    X(prop_mem, p("%zu", acc_get_property(0, acc_device_host, acc_property_memory)))                                        \
    X(prop_free, p("%zu", acc_get_property(0, acc_device_host, acc_property_free_memory)))                                  \
    X(prop_name, p("%s", acc_get_property_string(0, acc_device_host, acc_property_name)))                                   \
    X(prop_vendor, p("%s", acc_get_property_string(0, acc_device_host, acc_property_vendor)))                               \
    X(prop_driver, p("%s", acc_get_property_string(0, acc_device_host, acc_property_driver)))                               \
    X(prop_wrong, p("%s", acc_get_property_string(0, acc_device_host, acc_property_memory)))                                \
    X(prop_wrong2, p("%zu", acc_get_property(0, acc_device_host, acc_property_name)))                                       \
    X(prop_bad, p("%zu", acc_get_property(0, acc_device_host, 99)))                                                         \
    X(prop_badnum, p("%zu", acc_get_property(3, acc_device_host, acc_property_memory)))                                     \
    X(prop_none, p("%zu", acc_get_property(0, acc_device_none, acc_property_memory)))                                       \
    X(prop_current, p("%s", acc_get_property_string(0, acc_device_current, acc_property_vendor)))                           \
    X(prop_default, p("%s", acc_get_property_string(0, acc_device_default, acc_property_vendor)))                           \
    X(prop_nvidia, p("%zu", acc_get_property(0, acc_device_nvidia, acc_property_memory)))                                   \
    X(prop_nvidias, p("%s", acc_get_property_string(0, acc_device_nvidia, acc_property_vendor)))                            \
    X(prop_badtype, p("%zu", acc_get_property(0, 77, acc_property_memory)))                                                 \
    X(test0, p("%d", acc_async_test(0)))                                                                                    \
    X(test7, p("%d", acc_async_test(7)))                                                                                    \
    X(test_noval, p("%d", acc_async_test(-1)))                                                                              \
    X(test_sync, p("%d", acc_async_test(-2)))                                                                               \
    X(test_bad, p("%d", acc_async_test(-3)))                                                                                \
    X(test_all, p("%d", acc_async_test_all()))                                                                              \
    X(wait0, (acc_wait(0), p("ok")))                                                                                        \
    X(wait_bad, (acc_wait(-5), p("ok")))                                                                                    \
    X(wait_async, (acc_wait_async(0, 1), p("ok")))                                                                          \
    X(wait_async_bad, (acc_wait_async(-5, 1), p("ok")))                                                                     \
    X(wait_async_bad2, (acc_wait_async(1, -5), p("ok")))                                                                    \
    X(wait_all, (acc_wait_all(), p("ok")))                                                                                  \
    X(wait_all_async, (acc_wait_all_async(3), p("ok")))                                                                     \
    X(wait_all_async_bad, (acc_wait_all_async(-9), p("ok")))                                                                \
    X(init, (acc_init(acc_device_host), p("ok")))                                                                           \
    X(init_default, (acc_init(acc_device_default), p("ok")))                                                                \
    X(init_none, (acc_init(acc_device_none), p("ok")))                                                                      \
    X(init_nvidia, (acc_init(acc_device_nvidia), p("ok")))                                                                  \
    X(init_bad, (acc_init(77), p("ok")))                                                                                    \
    X(init_twice, (acc_init(acc_device_host), acc_init(acc_device_host), p("ok")))                                          \
    X(shutdown_first, (acc_shutdown(acc_device_host), p("ok")))                                                             \
    X(shutdown_default, (acc_shutdown(acc_device_default), p("ok")))                                                        \
    X(shutdown_none, (acc_shutdown(acc_device_none), p("ok")))                                                              \
    X(shutdown_nvidia, (acc_shutdown(acc_device_nvidia), p("ok")))                                                          \
    X(shutdown_bad, (acc_shutdown(77), p("ok")))                                                                            \
    X(init_shutdown, (acc_init(acc_device_host), acc_shutdown(acc_device_host), p("ok")))                                   \
    X(init_shutdown2, (acc_init(acc_device_host), acc_shutdown(acc_device_host), acc_shutdown(acc_device_host), p("ok")))   \
    X(again, (acc_init(acc_device_host), acc_shutdown(acc_device_host), acc_init(acc_device_host), p("ok")))                \
    X(implicit_shutdown, (acc_copyin(a, 64), acc_shutdown(acc_device_host), p("ok")))                                       \
    X(type_shutdown, (acc_get_device_type(), acc_shutdown(acc_device_host), p("ok")))                                       \
    X(on_host, p("%d", acc_on_device(which(acc_device_host))))                                                              \
    X(on_none, p("%d", acc_on_device(which(acc_device_none))))                                                              \
    X(on_default, p("%d", acc_on_device(which(acc_device_default))))                                                        \
    X(on_not_host, p("%d", acc_on_device(which(acc_device_not_host))))                                                      \
    X(on_bad, p("%d", acc_on_device(which(77))))                                                                            \
    X(copyin, p("%d", same(acc_copyin(a, 64), a)))                                                                          \
    X(copyin_null, p("%d", same(acc_copyin(NULL, 64), NULL)))                                                               \
    X(copyin_zero, p("%d", same(acc_copyin(a, 0), a)))                                                                      \
    X(create, p("%d", same(acc_create(a, 64), a)))                                                                          \
    X(create_null, p("%d", same(acc_create(NULL, 64), NULL)))                                                               \
    X(create_zero, p("%d", same(acc_create(a, 0), a)))                                                                      \
    X(pcopyin, p("%d", same(acc_pcopyin(a, 64), a)))                                                                        \
    X(pcreate, p("%d", same(acc_pcreate(a, 64), a)))                                                                        \
    X(pocopyin, p("%d", same(acc_present_or_copyin(a, 64), a)))                                                             \
    X(pocreate, p("%d", same(acc_present_or_create(a, 64), a)))                                                             \
    X(copyout, (acc_copyout(a, 64), p("ok")))                                                                               \
    X(copyout_null, (acc_copyout(NULL, 64), p("ok")))                                                                       \
    X(copyout_zero, (acc_copyout(a, 0), p("ok")))                                                                           \
    X(copyout_fin, (acc_copyout_finalize(a, 64), p("ok")))                                                                  \
    X(delete, (acc_delete(a, 64), p("ok")))                                                                                 \
    X(delete_null, (acc_delete(NULL, 64), p("ok")))                                                                         \
    X(delete_fin, (acc_delete_finalize(a, 64), p("ok")))                                                                    \
    X(copyin_async, (acc_copyin_async(a, 64, 1), p("ok")))                                                                  \
    X(copyin_async_bad, (acc_copyin_async(a, 64, -7), p("ok")))                                                             \
    X(create_async, (acc_create_async(a, 64, 1), p("ok")))                                                                  \
    X(copyout_async, (acc_copyout_async(a, 64, 1), p("ok")))                                                                \
    X(copyout_async_bad, (acc_copyout_async(a, 64, -7), p("ok")))                                                           \
    X(delete_async, (acc_delete_async(a, 64, 1), p("ok")))                                                                  \
    X(update_device, (acc_update_device(a, 64), p("ok")))                                                                   \
    X(update_null, (acc_update_device(NULL, 64), p("ok")))                                                                  \
    X(update_self, (acc_update_self(a, 64), p("ok")))                                                                       \
    X(update_async, (acc_update_self_async(a, 64, 2), acc_update_device_async(a, 64, 2), p("ok")))                          \
    X(update_async_bad, (acc_update_self_async(a, 64, -4), p("ok")))                                                        \
    X(map_same, (acc_map_data(a, a, 64), p("ok")))                                                                          \
    X(map_other, (acc_map_data(a, b, 64), p("ok")))                                                                         \
    X(map_null, (acc_map_data(NULL, b, 64), p("ok")))                                                                       \
    X(unmap, (acc_unmap_data(a), p("ok")))                                                                                  \
    X(unmap_null, (acc_unmap_data(NULL), p("ok")))                                                                          \
    X(deviceptr, p("%d", same(acc_deviceptr(a), a)))                                                                        \
    X(hostptr, p("%d", same(acc_hostptr(a), a)))                                                                            \
    X(present, p("%d", acc_is_present(a, 64)))                                                                              \
    X(present_null, p("%d", acc_is_present(NULL, 64)))                                                                      \
    X(present_zero, p("%d", acc_is_present(a, 0)))                                                                          \
    X(to_device, (strcpy(b, "xyz"), acc_memcpy_to_device(a, b, 4), p("%s", a)))                                             \
    X(from_device, (strcpy(b, "xyz"), acc_memcpy_from_device(a, b, 4), p("%s", a)))                                         \
    X(to_same, (strcpy(a, "xyz"), acc_memcpy_to_device(a, a, 4), p("%s", a)))                                               \
    X(to_device_async, (strcpy(b, "xyz"), acc_memcpy_to_device_async(a, b, 4, 1), p("%s", a)))                              \
    X(from_device_async, (strcpy(b, "xyz"), acc_memcpy_from_device_async(a, b, 4, 1), p("%s", a)))                          \
    X(memcpy_async_bad, (strcpy(b, "xyz"), acc_memcpy_to_device_async(a, b, 4, -7), p("%s", a)))                            \
    X(attach, (acc_attach((void **)&ptr), p("ok")))                                                                         \
    X(attach_async, (acc_attach_async((void **)&ptr, 2), acc_detach_async((void **)&ptr, 2), p("ok")))                      \
    X(detach, (acc_detach((void **)&ptr), acc_detach_finalize((void **)&ptr), p("ok")))                                     \
    X(attach_null, (acc_attach(NULL), p("ok")))                                                                             \
    X(malloc, (acc_free(memset(acc_malloc(100), 1, 100)), p("ok")))                                                         \
    X(malloc_zero, p("%d", acc_malloc(0) == NULL))                                                                          \
    X(free_null, (acc_free(NULL), p("ok")))                                                                                 \
    X(cuda_device, p("%p", acc_get_current_cuda_device()))                                                                  \
    X(cuda_context, p("%p", acc_get_current_cuda_context()))                                                                \
    X(cuda_stream, p("%p", acc_get_cuda_stream(1)))                                                                         \
    X(cuda_stream_bad, p("%p", acc_get_cuda_stream(-7)))                                                                    \
    X(cuda_set, p("%d", acc_set_cuda_stream(1, a)))                                                                         \
    X(cuda_set_null, p("%d", acc_set_cuda_stream(1, NULL)))                                                                 \
    X(cuda_set_bad, p("%d", acc_set_cuda_stream(-7, a)))                                                                    \
    X(old_waits, (acc_async_wait(1), acc_async_wait_all(), p("ok")))                                                        \
    X(construct_async, construct(3))                                                                                        \
    X(construct_noval, construct(-1))                                                                                       \
    X(construct_bad, construct(-7))                                                                                         \
    X(construct_wait_bad, construct_wait(-7))                                                                               \
    X(wait_directive_bad, wait_directive(-7))                                                                               \
    X(update_directive_bad, update_directive(-7))                                                                           \
    X(after_test7, (acc_init(acc_device_host), p("%d", acc_async_test(7)))) \
    X(after_test_noval, (acc_init(acc_device_host), p("%d", acc_async_test(-1)))) \
    X(after_test_bad, (acc_init(acc_device_host), p("%d", acc_async_test(-3)))) \
    X(after_test_all, (acc_init(acc_device_host), p("%d", acc_async_test_all()))) \
    X(after_wait, (acc_init(acc_device_host), (acc_wait(1), p("ok")))) \
    X(after_wait_bad, (acc_init(acc_device_host), (acc_wait(-5), p("ok")))) \
    X(after_wait_async_bad, (acc_init(acc_device_host), (acc_wait_async(-5, 1), p("ok")))) \
    X(after_wait_async_bad2, (acc_init(acc_device_host), (acc_wait_async(1, -5), p("ok")))) \
    X(after_wait_all, (acc_init(acc_device_host), (acc_wait_all(), p("ok")))) \
    X(after_wait_all_async_bad, (acc_init(acc_device_host), (acc_wait_all_async(-9), p("ok")))) \
    X(after_copyout_null, (acc_init(acc_device_host), (acc_copyout(NULL, 64), p("ok")))) \
    X(after_copyout, (acc_init(acc_device_host), (acc_copyout(a, 64), p("ok")))) \
    X(after_copyin_async_bad, (acc_init(acc_device_host), (acc_copyin_async(a, 64, -7), p("ok")))) \
    X(after_delete_async_bad, (acc_init(acc_device_host), (acc_delete_async(a, 64, -7), p("ok")))) \
    X(after_unmap, (acc_init(acc_device_host), (acc_unmap_data(a), p("ok")))) \
    X(after_unmap_null, (acc_init(acc_device_host), (acc_unmap_data(NULL), p("ok")))) \
    X(after_to_device, (acc_init(acc_device_host), (strcpy(b, "xyz"), acc_memcpy_to_device(a, b, 4), p("%s", a)))) \
    X(after_memcpy_async_bad, (acc_init(acc_device_host), (strcpy(b, "xyz"), acc_memcpy_to_device_async(a, b, 4, -7), p("%s", a)))) \
    X(after_attach, (acc_init(acc_device_host), (acc_attach((void **)&ptr), p("ok")))) \
    X(after_attach_null, (acc_init(acc_device_host), (acc_attach(NULL), p("ok")))) \
    X(after_cuda_set, (acc_init(acc_device_host), p("%d", acc_set_cuda_stream(1, a)))) \
    X(after_cuda_set_bad, (acc_init(acc_device_host), p("%d", acc_set_cuda_stream(-7, a)))) \
    X(after_set_type, (acc_init(acc_device_host), (acc_set_device_type(acc_device_host), p("ok")))) \
    X(after_set_num, (acc_init(acc_device_host), (acc_set_device_num(0, acc_device_host), p("ok")))) \
    X(after_shutdown_default, (acc_init(acc_device_host), (acc_shutdown(acc_device_default), p("ok")))) \
    X(after_init_default, (acc_init(acc_device_host), (acc_init(acc_device_default), p("ok")))) \
    X(set_then_init, (acc_set_device_type(acc_device_host), acc_init(acc_device_host), p("ok"))) \
    X(lazy_then_init, (acc_copyin(a, 64), acc_init(acc_device_host), p("ok"))) \
    X(shut_wait, (acc_copyin(a, 64), acc_shutdown(acc_device_host), acc_wait(1), p("ok"))) \
    X(set_num_then_shut, (acc_set_device_num(0, acc_device_host), acc_shutdown(acc_device_host), p("ok"))) \
    X(data, data())

static char *ptr = a;
static volatile int zero;
static acc_device_t which(int t) { return (acc_device_t)(t + zero); }
#define p(...) printf(__VA_ARGS__)

static void construct(int q) {
    int s = 0, n = 100 + zero, t[100];
#pragma acc parallel loop copyout(t) async(q)
    for (int i = 0; i < n; i++) t[i] = i;
#pragma acc parallel loop copyin(t) reduction(+ : s) wait(1)
    for (int i = 0; i < n; i++) s += t[i];
    printf("%d", s);
}
static void construct_wait(int q) {
    int s = 0;
#pragma acc kernels copy(s) wait(q)
    s++;
    printf("%d", s);
}
static void wait_directive(int q) {
#pragma acc wait(q)
    printf("ok");
}
static void update_directive(int q) {
    int s = 0;
#pragma acc enter data create(s)
#pragma acc update host(s) async(q)
    printf("ok");
}
static void data(void) {
    int s = 1, t = 2;
#pragma acc data copy(s) copyin(t)
    {
#pragma acc serial present(s, t)
        s += t;
#pragma acc update self(s)
        int *q = &s;
#pragma acc host_data use_device(q)
        printf("%d ", acc_is_present(q, sizeof s));
    }
#pragma acc enter data copyin(s)
#pragma acc exit data copyout(s)
    printf("%d %d", s, acc_on_device(which(acc_device_host)));
}

#define CALL(name, ...) {#name, 0},
#define RUN(name, ...)                                                                                                      \
    if (!strcmp(which_case, #name)) {                                                                                       \
        __VA_ARGS__;                                                                                                        \
        return;                                                                                                             \
    }
static void run(const char *which_case) { CASES(RUN) }
static struct {
    const char *name;
    int unused;
} cases[] = {CASES(CALL)};

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    dup2(1, 2); /* the messages are part of the result */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        printf("@%s: ", cases[i].name);
        pid_t child = fork();
        if (child == 0) {
            alarm(3);
            run(cases[i].name);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) printf(" status %x", (unsigned)status);
        printf("\n");
    }
    return 0;
}
