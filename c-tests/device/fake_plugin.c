/* A device plugin without a device: its memory is the process's, its kernels are functions of the host. It
 * is found as libgomp-plugin-nvptx.so.1 is. FAKE says what goes wrong: version, none, init, image, memory,
 * kernel, copy. FAKE_MEMORY is how many bytes the device has. FAKE_CUDA is the file of the driver's library
 * (fake_cuda.c). FAKE_CAPS are its capabilities; with bit 1 (native execution) functions need no image.
 * FAKE_PTX is for images by GCC's offload compiler: their kernels do nothing. */
#include <acc_prof.h>
#include <dlfcn.h>
#include <malloc.h>
#include <openacc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { uintptr_t start, end; };
struct image {
    const void *objects; unsigned objects_n;
    const char **names; unsigned variables;
    const void *kernels; unsigned functions;
    struct pair *pairs;
};
void *GOMP_PLUGIN_malloc(size_t);
void GOMP_PLUGIN_error(const char *, ...);
_Noreturn void GOMP_PLUGIN_fatal(const char *, ...);

/* What the runtime keeps for a thread (oacc-int.h), as far as plugins read it; tools are told of a plugin's
 * events with what it holds. */
struct thread { void *base, *device, *bound, *mapped; acc_prof_info *profile; acc_api_info *api; };
struct thread *GOMP_PLUGIN_goacc_thread(void);
void GOMP_PLUGIN_goacc_profiling_dispatch(acc_prof_info *, acc_event_info *, acc_api_info *);
static void tell(acc_event_t event, acc_event_info *e, int bytes) {
    struct thread *t = GOMP_PLUGIN_goacc_thread();
    if (!t || !t->profile) return;
    t->profile->event_type = e->event_type = event;
    e->other_event.valid_bytes = bytes;
    e->other_event.parent_construct = acc_construct_parallel;
    e->other_event.implicit = 1;
    t->api->device_api = acc_device_api_cuda;
    GOMP_PLUGIN_goacc_profiling_dispatch(t->profile, e, t->api);
}
static void tell_data(acc_event_t event, void *at, size_t bytes) {
    acc_event_info e = {0};
    e.data_event.bytes = bytes;
    e.data_event.device_ptr = at;
    tell(event, &e, _ACC_DATA_EVENT_INFO_VALID_BYTES);
}

static const char *fake = "";
static unsigned caps = 1 << 2 | 1 << 3;
static bool ptx;
static long in_use, used_bytes, runs;
static __attribute__((constructor)) void look(void) {
    if (getenv("FAKE")) fake = getenv("FAKE");
    ptx = getenv("FAKE_PTX");
    if (getenv("FAKE_CAPS")) caps = atoi(getenv("FAKE_CAPS"));
}
static bool goes_wrong(const char *what) { return !strcmp(fake, what); }

unsigned GOMP_OFFLOAD_version(void) { return goes_wrong("version") ? 7 : 1; }
const char *GOMP_OFFLOAD_get_name(void) { return "nvptx"; }
unsigned GOMP_OFFLOAD_get_caps(void) { return caps; }
int GOMP_OFFLOAD_get_type(void) { return 5; }
int GOMP_OFFLOAD_get_num_devices(unsigned omp_requires) { return goes_wrong("none") ? 0 : 2; }
bool GOMP_OFFLOAD_init_device(int n) {
    if (getenv("FAKE_CUDA") && !dlopen(getenv("FAKE_CUDA"), RTLD_NOW)) return false;
    return !goes_wrong("init");
}
bool GOMP_OFFLOAD_fini_device(int n) {
    if (getenv("FAKE_TELL")) fprintf(stderr, "device %d: %ld blocks, %ld runs\n", n, in_use, runs);
    return true;
}
int GOMP_OFFLOAD_load_image(int n, unsigned version, const struct image *image, struct pair **pairs,
                            uint64_t *rev) {
    if (goes_wrong("image")) return -1;
    unsigned all = image->functions + image->variables;
    *pairs = GOMP_PLUGIN_malloc((all + 1) * sizeof **pairs);
    /* An image by the compiler has no addresses, and no variable larger than kinds.c's. */
    static char variable[256];
    for (unsigned i = 0; ptx && i < all; i++)
        (*pairs)[i] = i < image->functions
                          ? (struct pair){(uintptr_t)image + i, (uintptr_t)image + i + 1}
                          : (struct pair){(uintptr_t)variable, (uintptr_t)(variable + sizeof variable)};
    if (!ptx) memcpy(*pairs, image->pairs, all * sizeof **pairs);
    /* The host asks for the device's number behind them. */
    (*pairs)[all] = (struct pair){0, 0};
    return all;
}
bool GOMP_OFFLOAD_unload_image(int n, unsigned version, const void *image) { return true; }
void *GOMP_OFFLOAD_alloc(int n, size_t bytes) {
    if (goes_wrong("memory") && bytes > 1 << 20) return NULL;
    void *at = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    long size = malloc_usable_size(at), used = __atomic_add_fetch(&used_bytes, size, __ATOMIC_RELAXED);
    if (getenv("FAKE_MEMORY") && used > atol(getenv("FAKE_MEMORY"))) {
        __atomic_sub_fetch(&used_bytes, size, __ATOMIC_RELAXED);
        free(at);
        return NULL;
    }
    __atomic_add_fetch(&in_use, 1, __ATOMIC_RELAXED);
    tell_data(acc_ev_alloc, at, bytes);
    return at;
}
bool GOMP_OFFLOAD_free(int n, void *at) {
    __atomic_sub_fetch(&in_use, 1, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&used_bytes, malloc_usable_size(at), __ATOMIC_RELAXED);
    tell_data(acc_ev_free, at, 0);
    free(at);
    return true;
}
static bool copy(void *to, const void *from, size_t bytes) {
    if (goes_wrong("copy")) {
        GOMP_PLUGIN_error("the copy of %zu bytes failed", bytes);
        return false;
    }
    memmove(to, from, bytes);
    return true;
}
bool GOMP_OFFLOAD_dev2host(int n, void *to, const void *from, size_t bytes) { return copy(to, from, bytes); }
bool GOMP_OFFLOAD_host2dev(int n, void *to, const void *from, size_t bytes) { return copy(to, from, bytes); }
bool GOMP_OFFLOAD_dev2dev(int n, void *to, const void *from, size_t bytes) { return copy(to, from, bytes); }
bool GOMP_OFFLOAD_can_run(void *function) { return true; }
void GOMP_OFFLOAD_run(int n, void *function, void *args, void **launch) {
    if (goes_wrong("kernel")) GOMP_PLUGIN_fatal("the kernel failed with error %d", 42);
    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
    if (!ptx) ((void (*)(void *))function)(args);
}
/* OpenACC: queues are numbers, and nothing is ever under way. */
void GOMP_OFFLOAD_openacc_exec(void (*function)(void *), size_t n, void **hosts, void **args, unsigned *dims,
                               void *info) {
    acc_event_info e = {0};
    e.launch_event.kernel_name = "main$_omp_fn$0";
    size_t *const sizes[] = {&e.launch_event.num_gangs, &e.launch_event.num_workers,
                             &e.launch_event.vector_length};
    for (int i = 0; i < 3; i++) *sizes[i] = dims[i] ? dims[i] : 1;
    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
    tell(acc_ev_enqueue_launch_start, &e, _ACC_LAUNCH_EVENT_INFO_VALID_BYTES);
    function(args);
    tell(acc_ev_enqueue_launch_end, &e, _ACC_LAUNCH_EVENT_INFO_VALID_BYTES);
}
void GOMP_OFFLOAD_openacc_async_exec(void (*function)(void *), size_t n, void **hosts, void **args,
                                     unsigned *dims, void *info, void *queue) {
    GOMP_OFFLOAD_openacc_exec(function, n, hosts, args, dims, info);
}
void *GOMP_OFFLOAD_openacc_create_thread_data(int n) { return NULL; }
void GOMP_OFFLOAD_openacc_destroy_thread_data(void *data) {}
void *GOMP_OFFLOAD_openacc_async_construct(int n) { return &runs; }
bool GOMP_OFFLOAD_openacc_async_destruct(void *queue) { return true; }
int GOMP_OFFLOAD_openacc_async_test(void *queue) { return 1; }
bool GOMP_OFFLOAD_openacc_async_synchronize(void *queue) { return true; }
bool GOMP_OFFLOAD_openacc_async_serialize(void *first, void *then) { return true; }
void GOMP_OFFLOAD_openacc_async_queue_callback(void *queue, void (*f)(void *), void *arg) { f(arg); }
bool GOMP_OFFLOAD_openacc_async_host2dev(int n, void *to, const void *from, size_t bytes, void *queue) {
    return copy(to, from, bytes);
}
bool GOMP_OFFLOAD_openacc_async_dev2host(int n, void *to, const void *from, size_t bytes, void *queue) {
    return copy(to, from, bytes);
}
union value { void *p; size_t n; };
union value GOMP_OFFLOAD_openacc_get_property(int n, int which) {
    union value none = {0};
    return none;
}
