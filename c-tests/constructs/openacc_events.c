/* The OpenACC profiling interface: which events every construct and routine dispatches, with all their fields. */
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

static void shown(const char *s, acc_prof_info *p, acc_event_info *e, acc_api_info *a) {
    printf("  %s event %d/%d bytes %d,%d,%d version %d device %d.%d thread %d async %ld,%ld construct %d implicit %d tool %d", s,
           p->event_type, e->event_type, p->valid_bytes, e->other_event.valid_bytes, a->valid_bytes, p->version, p->device_type,
           p->device_number, p->thread_id, p->async, p->async_queue, e->other_event.parent_construct, e->other_event.implicit,
           e->other_event.tool_info != NULL);
    printf(" src %d,%d lines %d %d %d %d", p->src_file != NULL, p->func_name != NULL, p->line_no, p->end_line_no,
           p->func_line_no, p->func_end_line_no);
    printf(" api %d %d.%d %d %d %d", a->device_api, a->device_type, a->vendor, a->device_handle != NULL,
           a->context_handle != NULL, a->async_handle != NULL);
    if (p->event_type == acc_ev_enqueue_launch_start || p->event_type == acc_ev_enqueue_launch_end)
        printf(" launch %d %zu %zu %zu", e->launch_event.kernel_name != NULL, e->launch_event.num_gangs,
               e->launch_event.num_workers, e->launch_event.vector_length);
    printf("\n");
    if (!e->other_event.tool_info) e->other_event.tool_info = p; /* handed from the start event to the end event */
}
static void first(acc_prof_info *p, acc_event_info *e, acc_api_info *a) { shown("first", p, e, a); }
static void second(acc_prof_info *p, acc_event_info *e, acc_api_info *a) { shown("second", p, e, a); }

static acc_prof_reg reg, unreg;
static acc_prof_lookup_func lookup;
void acc_register_library(acc_prof_reg r, acc_prof_reg u, acc_prof_lookup_func l) {
    reg = r;
    unreg = u;
    lookup = l;
    printf("library registered: %d %d %d\n", r == acc_prof_register, u == acc_prof_unregister, l == acc_prof_lookup);
}

int main(int argc, char **argv) {
    int a[10] = {1}, s = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    dup2(1, 2);
    printf("lookup %d\n", acc_prof_lookup("nothing") == NULL);
    for (int e = acc_ev_device_init_start; e < acc_ev_last; e++) acc_prof_register((acc_event_t)e, first, acc_reg);
#define SHOW(...) printf(#__VA_ARGS__ "\n"); __VA_ARGS__
    int i = 0, which = argc > 1 ? atoi(argv[1]) : 0;
#define FIRST(...)                                                                                                          \
    if (++i == which) {                                                                                                     \
        SHOW(__VA_ARGS__);                                                                                                  \
    }
    /* What initialises the device. */
    FIRST(acc_init(acc_device_host));
    FIRST(acc_init(acc_device_default));
    FIRST(acc_set_device_type(acc_device_host));
    FIRST(acc_set_device_num(0, acc_device_host));
    FIRST(acc_get_device_type());
    FIRST(acc_get_device_num(acc_device_host));
    FIRST(acc_get_num_devices(acc_device_host));
    FIRST(acc_get_property(0, acc_device_host, acc_property_memory));
    FIRST(acc_copyin(a, sizeof a));
    FIRST(acc_update_self(a, sizeof a));
    FIRST(acc_is_present(a, sizeof a));
    FIRST(acc_deviceptr(a));
    FIRST(acc_hostptr(a));
    FIRST(acc_malloc(1));
    FIRST(acc_map_data(a, a, sizeof a));
    FIRST(acc_on_device(acc_device_host));
    FIRST(acc_get_cuda_stream(1));
    if (++i == which) {
#pragma acc enter data copyin(a)
    }
    if (++i == which) {
#pragma acc update self(a) async(1)
    }
    if (++i == which) {
#pragma acc parallel copy(a) if (s == 12345)
        a[0]++;
    }
    if (++i == which) {
#pragma acc data copy(a)
        s++;
    }
    if (++i == which) {
#pragma acc wait
    }
    printf("parallel\n");
#pragma acc parallel copy(a) num_gangs(3) num_workers(2) vector_length(32)
    a[0]++;
    printf("parallel async\n");
#pragma acc parallel copy(a) async(2)
    a[0]++;
    printf("kernels\n");
#pragma acc kernels copy(a)
    a[0]++;
    printf("serial\n");
#pragma acc serial copy(a)
    a[0]++;
    printf("data\n");
#pragma acc data copy(a)
    {
#pragma acc host_data use_device(a)
        s += a[0];
    }
    printf("if false\n");
#pragma acc parallel copy(a) if (s == 12345)
    a[0]++;
    printf("data if false\n");
#pragma acc data copy(a) if (s == 12345)
    a[0]++;
    printf("enter, update, exit\n");
#pragma acc enter data copyin(a) async(1)
#pragma acc update device(a) async(1)
#pragma acc update self(a) wait(1)
#pragma acc exit data copyout(a)
    printf("wait\n");
#pragma acc wait
#pragma acc wait(1) async(2)
    SHOW(acc_wait(1));
    SHOW(acc_wait_all());
    SHOW(acc_wait_async(1, 2));
    SHOW(acc_wait_all_async(2));
    SHOW(acc_async_test(1));
    SHOW(acc_async_test_all());
    SHOW(acc_copyin(a, sizeof a));
    SHOW(acc_update_self(a, sizeof a));
    SHOW(acc_update_device_async(a, sizeof a, 1));
    SHOW(acc_copyout(a, sizeof a));
    SHOW(acc_create(a, sizeof a));
    SHOW(acc_delete(a, sizeof a));
    SHOW(acc_memcpy_to_device(a, a, sizeof a));
    SHOW(acc_is_present(a, sizeof a));
    SHOW(acc_deviceptr(a));
    SHOW(acc_map_data(a, a, sizeof a));
    SHOW(acc_unmap_data(a));
    SHOW(free(acc_malloc(10)));
    SHOW(acc_get_device_type());
    SHOW(acc_get_device_num(acc_device_host));
    SHOW(acc_get_property(0, acc_device_host, acc_property_memory));
    SHOW(acc_set_device_num(0, acc_device_host));
    printf("two callbacks, one of them twice\n");
    acc_prof_register(acc_ev_compute_construct_start, second, acc_reg);
    acc_prof_register(acc_ev_compute_construct_start, second, acc_reg);
#pragma acc parallel copy(a)
    a[0]++;
    acc_prof_unregister(acc_ev_compute_construct_start, second, acc_reg);
    printf("unregistered once\n");
#pragma acc parallel copy(a)
    a[0]++;
    acc_prof_unregister(acc_ev_compute_construct_start, second, acc_reg);
    acc_prof_unregister(acc_ev_compute_construct_start, second, acc_reg);
    printf("unregistered\n");
#pragma acc parallel copy(a)
    a[0]++;
    printf("toggled off\n");
    acc_prof_unregister(acc_ev_compute_construct_start, NULL, acc_toggle);
    acc_prof_unregister(acc_ev_compute_construct_end, first, acc_toggle);
#pragma acc parallel copy(a)
    a[0]++;
    acc_prof_register(acc_ev_compute_construct_start, NULL, acc_toggle);
    acc_prof_register(acc_ev_compute_construct_end, first, acc_toggle);
    printf("all off\n");
    acc_prof_unregister(acc_ev_none, NULL, acc_toggle);
#pragma acc parallel copy(a)
    a[0]++;
    acc_prof_register(acc_ev_none, NULL, acc_toggle);
    printf("this thread off\n");
    acc_prof_unregister(acc_ev_none, NULL, acc_toggle_per_thread);
#pragma acc parallel copy(a)
    a[0]++;
    acc_prof_register(acc_ev_none, NULL, acc_toggle_per_thread);
    printf("on\n");
#pragma acc parallel copy(a)
    a[0]++;
    printf("invalid\n");
    acc_prof_register(acc_ev_none, first, acc_reg);
    acc_prof_register(acc_ev_last, first, acc_reg);
    acc_prof_register(99, first, acc_reg);
    acc_prof_register(acc_ev_update_start, NULL, acc_reg);
    acc_prof_register(acc_ev_update_start, first, 9);
    acc_prof_register(acc_ev_update_start, first, acc_toggle_per_thread);
    acc_prof_unregister(acc_ev_update_start, second, acc_reg);
    acc_prof_unregister(99, first, acc_reg);
    SHOW(acc_shutdown(acc_device_host));
    SHOW(acc_init(acc_device_host));
    printf("end %d\n", a[0]);
    return 0;
}
