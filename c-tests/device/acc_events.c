/* What OpenACC's tools are told of constructs on a device: a line an event. With "short" without what a
 * plugin does by itself: memory and how the device is programmed. */
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
#include <string.h>

static int whole = 1, depth;

static void show(acc_prof_info *p, acc_event_info *e, acc_api_info *a) {
    static const char *const names[acc_ev_last] = {
        [acc_ev_device_init_start] = "device_init_start", [acc_ev_device_init_end] = "device_init_end",
        [acc_ev_alloc] = "alloc", [acc_ev_free] = "free",
        [acc_ev_enter_data_start] = "enter_data_start", [acc_ev_enter_data_end] = "enter_data_end",
        [acc_ev_exit_data_start] = "exit_data_start", [acc_ev_exit_data_end] = "exit_data_end",
        [acc_ev_update_start] = "update_start", [acc_ev_update_end] = "update_end",
        [acc_ev_compute_construct_start] = "compute_start", [acc_ev_compute_construct_end] = "compute_end",
        [acc_ev_enqueue_launch_start] = "launch_start", [acc_ev_enqueue_launch_end] = "launch_end"};
    const char *name = names[p->event_type] ? names[p->event_type] : "another";
    const int launch = strstr(name, "launch") != 0;
    const int data = p->event_type == acc_ev_alloc || p->event_type == acc_ev_free;
    if (data && !whole) return;
    if (strstr(name, "_end")) depth--;
    printf("%*s%s device %d.%d queue %ld,%ld construct %d implicit %d bytes %d,%d,%d", 2 * depth, "", name,
           p->device_type, p->device_number, p->async, p->async_queue, e->other_event.parent_construct,
           e->other_event.implicit, p->valid_bytes, e->other_event.valid_bytes, a->valid_bytes);
    if (whole) printf(" api %d", a->device_api);
    if (strstr(name, "_start")) depth++;
    if (launch)
        printf(" kernel %d %zu %zu %zu", strstr(e->launch_event.kernel_name, "omp_fn") != 0,
               e->launch_event.num_gangs, e->launch_event.num_workers, e->launch_event.vector_length);
    /* What is left at the start is found at the end. */
    if (!data) {
        printf(" tool %d", e->other_event.tool_info == (strstr(name, "_end") ? (void *)names : 0));
        e->other_event.tool_info = (void *)names;
    }
    printf("\n");
}

int main(int argc, char **argv) {
    int a[10] = {1}, b[10] = {2};
    whole = argc < 2 || strcmp(argv[1], "short");
    setvbuf(stdout, 0, _IONBF, 0);
    for (int e = acc_ev_device_init_start; e < acc_ev_last; e++)
        acc_prof_register((acc_event_t)e, show, acc_reg);
    printf("parallel\n");
#pragma acc parallel copy(a)
    a[0]++;
    printf("sizes\n");
#pragma acc parallel copy(a) num_gangs(3) num_workers(2) vector_length(32)
    a[1] = 7;
    printf("async\n");
#pragma acc parallel copy(a) async(2)
    a[0]++;
#pragma acc wait
    printf("kernels\n");
#pragma acc kernels copy(a)
    a[0]++;
    printf("data\n");
#pragma acc data copyin(a) create(b)
    {
        printf("inside\n");
#pragma acc parallel present(a, b)
        b[0] = a[0];
        printf("update\n");
#pragma acc update self(b)
#pragma acc update device(a) async(3)
#pragma acc wait(3)
        printf("end\n");
    }
    printf("enter\n");
#pragma acc enter data copyin(a)
    printf("exit\n");
#pragma acc exit data delete (a)
    printf("none\n");
    acc_prof_unregister(acc_ev_none, 0, acc_toggle);
#pragma acc parallel copy(a)
    a[0]++;
    printf("%d %d %d\n", a[0], a[1], b[0]);
    return 0;
}
