/* A tool that writes down what it is told, a line for each callback, and prints it when it is finalised: to
   standard error, or to the file that RECORDER_OUT names. A line: the callback's name, the thread's number,
   and what it was given, as name=value. Threads, regions and tasks have numbers of the tool's own, 0 for
   none. RECORDER_ONLY: a list of callbacks, the only ones that are registered. */
#include <omp-tools.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static size_t used, room;
static ompt_get_thread_data_t thread_data;
static ompt_get_unique_id_t unique;
static ompt_get_task_info_t task_info;
static ompt_get_parallel_info_t parallel_info;
static ompt_get_state_t state;
static ompt_finalize_tool_t finalize_tool;
/* For programs that include this file. */
static ompt_get_callback_t recorder_get_callback;
static ompt_set_callback_t recorder_set_callback;
static ompt_function_lookup_t recorder_lookup;
static ompt_get_task_memory_t task_memory;
static ompt_enumerate_states_t enumerate_states;
static ompt_enumerate_mutex_impls_t enumerate_mutex_impls;
static ompt_get_num_procs_t get_num_procs;
static ompt_get_num_places_t get_num_places;
static ompt_get_place_proc_ids_t get_place_proc_ids;
static ompt_get_place_num_t get_place_num;
static ompt_get_partition_place_nums_t get_partition_place_nums;
static ompt_get_proc_id_t get_proc_id;
static ompt_get_num_devices_t get_num_devices;
static ompt_get_target_info_t get_target_info;

static void line(const char *format, ...) {
    va_list args;
    pthread_mutex_lock(&lock);
    if (room - used < 1000) text = realloc(text, room = 2 * room + 4096);
    va_start(args, format);
    used += vsnprintf(text + used, 999, format, args);
    va_end(args);
    text[used++] = '\n';
    pthread_mutex_unlock(&lock);
}

static unsigned long id(ompt_data_t *d) { return d ? d->value : 0; }
static unsigned long me(void) { return id(thread_data()); }
static unsigned long named(ompt_data_t *d) {
    /* A new object's word is 0. */
    if (d->value) line("FAULT a new object has a word already: %lu", (unsigned long)d->value);
    return d->value = unique();
}
static const char *ends(ompt_scope_endpoint_t e) {
    return e == ompt_scope_begin ? "begin" : e == ompt_scope_end ? "end" : "beginend";
}

static void thread_begin(ompt_thread_t type, ompt_data_t *data) {
    line("thread_begin %lu type=%d", named(data), type);
}
static void thread_end(ompt_data_t *data) { line("thread_end %lu", id(data)); }
static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region, unsigned asked,
                           int flags, const void *site) {
    line("parallel_begin %lu task=%lu exit=%p enter=%p region=%lu asked=%u flags=%x site=%p", me(), id(task),
         frame->exit_frame.ptr, frame->enter_frame.ptr, named(region), asked, flags, site);
}
static void parallel_end(ompt_data_t *region, ompt_data_t *task, int flags, const void *site) {
    line("parallel_end %lu region=%lu task=%lu flags=%x site=%p", me(), id(region), id(task), flags, site);
}
static void implicit_task(ompt_scope_endpoint_t e, ompt_data_t *region, ompt_data_t *task, unsigned size,
                          unsigned index, int flags) {
    if (e == ompt_scope_begin) named(task);
    line("implicit_task %lu %s region=%lu task=%lu size=%u index=%u flags=%x", me(), ends(e), id(region),
         id(task), size, index, flags);
}
static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *new, int flags,
                        int depends, const void *site) {
    line("task_create %lu task=%lu exit=%p enter=%p new=%lu flags=%x depends=%d site=%p", me(), id(task),
         frame->exit_frame.ptr, frame->enter_frame.ptr, named(new), flags, depends, site);
}
static void task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next) {
    line("task_schedule %lu prior=%lu status=%d next=%lu", me(), id(prior), status, id(next));
}
static void dependences(ompt_data_t *task, const ompt_dependence_t *deps, int n) {
    char list[500] = "";
    for (int i = 0; i < n && i < 8; i++)
        sprintf(list + strlen(list), " %p:%d", deps[i].variable.ptr, deps[i].dependence_type);
    line("dependences %lu task=%lu n=%d%s", me(), id(task), n, list);
}
static void task_dependence(ompt_data_t *source, ompt_data_t *sink) {
    line("task_dependence %lu source=%lu sink=%lu", me(), id(source), id(sink));
}
static void work(ompt_work_t type, ompt_scope_endpoint_t e, ompt_data_t *region, ompt_data_t *task,
                 uint64_t count, const void *site) {
    line("work %lu %s type=%d region=%lu task=%lu count=%lu site=%p", me(), ends(e), type, id(region),
         id(task), (unsigned long)count, site);
}
static void dispatch(ompt_data_t *region, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance) {
    ompt_dispatch_chunk_t none = {0, 0}, *c = kind == ompt_dispatch_ws_loop_chunk ? instance.ptr : &none;
    line("dispatch %lu kind=%d region=%lu task=%lu start=%lu n=%lu", me(), kind, id(region), id(task),
         (unsigned long)c->start, (unsigned long)c->iterations);
}
static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t e, ompt_data_t *region,
                        ompt_data_t *task, const void *site) {
    line("sync_region %lu %s kind=%d region=%lu task=%lu site=%p", me(), ends(e), kind, id(region), id(task),
         site);
}
static void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t e, ompt_data_t *region,
                             ompt_data_t *task, const void *site) {
    ompt_wait_id_t wait;
    line("sync_region_wait %lu %s kind=%d region=%lu task=%lu site=%p state=%x", me(), ends(e), kind,
         id(region), id(task), site, state(&wait));
}
static void mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t at,
                          const void *site) {
    line("mutex_acquire %lu kind=%d hint=%u impl=%u at=%lx site=%p", me(), kind, hint, impl, at, site);
}
static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t at, const void *site) {
    line("mutex_acquired %lu kind=%d at=%lx site=%p", me(), kind, at, site);
}
static void mutex_released(ompt_mutex_t kind, ompt_wait_id_t at, const void *site) {
    line("mutex_released %lu kind=%d at=%lx site=%p", me(), kind, at, site);
}
static void lock_init(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t at, const void *site) {
    line("lock_init %lu kind=%d hint=%u impl=%u at=%lx site=%p", me(), kind, hint, impl, at, site);
}
static void lock_destroy(ompt_mutex_t kind, ompt_wait_id_t at, const void *site) {
    line("lock_destroy %lu kind=%d at=%lx site=%p", me(), kind, at, site);
}
static void nest_lock(ompt_scope_endpoint_t e, ompt_wait_id_t at, const void *site) {
    line("nest_lock %lu %s at=%lx site=%p", me(), ends(e), at, site);
}
static void cancel(ompt_data_t *task, int flags, const void *site) {
    line("cancel %lu task=%lu flags=%x site=%p", me(), id(task), flags, site);
}
static void error(ompt_severity_t severity, const char *message, size_t n, const void *site) {
    line("error %lu severity=%d message=%.*s site=%p", me(), severity, (int)n, message ? message : "", site);
}
static int control_tool(uint64_t command, uint64_t modifier, void *argument, const void *site) {
    line("control_tool %lu command=%lu modifier=%lu argument=%p site=%p", me(), (unsigned long)command,
         (unsigned long)modifier, argument, site);
    if (command == 4) finalize_tool();
    return (int)(command + modifier);
}
static void masked(ompt_scope_endpoint_t e, ompt_data_t *region, ompt_data_t *task, const void *site) {
    line("masked %lu %s region=%lu task=%lu site=%p", me(), ends(e), id(region), id(task), site);
}
static void reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t e, ompt_data_t *region,
                      ompt_data_t *task, const void *site) {
    line("reduction %lu %s kind=%d region=%lu task=%lu site=%p", me(), ends(e), kind, id(region), id(task),
         site);
}
static void device_initialize(int device, const char *type, ompt_device_t *handle,
                              ompt_function_lookup_t lookup, const char *documentation) {
    line("device_initialize %lu device=%d type=%s lookup=%d", me(), device, type, lookup != NULL);
    (void)handle, (void)documentation;
}
static void device_finalize(int device) { line("device_finalize %lu device=%d", me(), device); }
static void device_load(int device, const char *file, int64_t offset, void *vma, size_t bytes, void *host,
                        void *on_device, uint64_t module) {
    line("device_load %lu device=%d file=%d offset=%ld host=%d module=%lu", me(), device, file != NULL,
         (long)offset, host != NULL, (unsigned long)module);
    (void)vma, (void)bytes, (void)on_device;
}
static void device_unload(int device, uint64_t module) {
    line("device_unload %lu device=%d module=%lu", me(), device, (unsigned long)module);
}
static void target_map_emi(ompt_data_t *target, unsigned n, void **host, void **device, size_t *bytes,
                           unsigned *flags, const void *site) {
    for (unsigned i = 0; i < n; i++)
        line("target_map_emi %lu target=%lu moved=%d bytes=%lu flags=%u", me(), id(target),
             host[i] != device[i], (unsigned long)bytes[i], flags[i]);
    (void)site;
}
static void target_emi(ompt_target_t kind, ompt_scope_endpoint_t e, int device, ompt_data_t *task,
                       ompt_data_t *target_task, ompt_data_t *target, const void *site) {
    if (e == ompt_scope_begin) target->value = unique();
    line("target_emi %lu %s kind=%d device=%d task=%lu target_task=%lu target=%lu site=%p", me(), ends(e),
         kind, device, id(task), id(target_task), id(target), site);
}
static void target_data_op_emi(ompt_scope_endpoint_t e, ompt_data_t *target_task, ompt_data_t *target,
                               ompt_id_t *op, ompt_target_data_op_t type, void *from, int from_device,
                               void *to, int to_device, size_t bytes, const void *site) {
    if (e == ompt_scope_begin) *op = unique();
    line("target_data_op_emi %lu %s target=%lu op=%lu type=%d from_device=%d to_device=%d bytes=%lu", me(),
         ends(e), id(target), (unsigned long)*op, type, from_device, to_device, (unsigned long)bytes);
    (void)target_task, (void)from, (void)to, (void)site;
}
static void target_submit_emi(ompt_scope_endpoint_t e, ompt_data_t *target, ompt_id_t *op, unsigned teams) {
    if (e == ompt_scope_begin) *op = unique();
    line("target_submit_emi %lu %s target=%lu op=%lu teams=%u", me(), ends(e), id(target), (unsigned long)*op,
         teams);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    const char *only = getenv("RECORDER_ONLY");
    ompt_set_callback_t set = recorder_set_callback = (ompt_set_callback_t)lookup("ompt_set_callback");
    recorder_lookup = lookup;
#define FIND(variable, name) variable = (ompt_##name##_t)lookup("ompt_" #name)
    FIND(recorder_get_callback, get_callback);
    FIND(thread_data, get_thread_data);
    FIND(unique, get_unique_id);
    FIND(task_info, get_task_info);
    FIND(parallel_info, get_parallel_info);
    FIND(state, get_state);
    FIND(finalize_tool, finalize_tool);
    FIND(task_memory, get_task_memory);
    FIND(enumerate_states, enumerate_states);
    FIND(enumerate_mutex_impls, enumerate_mutex_impls);
    FIND(get_num_procs, get_num_procs);
    FIND(get_num_places, get_num_places);
    FIND(get_place_proc_ids, get_place_proc_ids);
    FIND(get_place_num, get_place_num);
    FIND(get_partition_place_nums, get_partition_place_nums);
    FIND(get_proc_id, get_proc_id);
    FIND(get_num_devices, get_num_devices);
    FIND(get_target_info, get_target_info);
#define REGISTER(name)                                                                             \
    if (!only || strstr(only, #name))                                                              \
        line("set " #name " %d", set(ompt_callback_##name, (ompt_callback_t)name))
    REGISTER(thread_begin);
    REGISTER(thread_end);
    REGISTER(parallel_begin);
    REGISTER(parallel_end);
    REGISTER(implicit_task);
    REGISTER(task_create);
    REGISTER(task_schedule);
    REGISTER(dependences);
    REGISTER(task_dependence);
    REGISTER(work);
    REGISTER(dispatch);
    REGISTER(sync_region);
    REGISTER(sync_region_wait);
    REGISTER(mutex_acquire);
    REGISTER(mutex_acquired);
    REGISTER(mutex_released);
    REGISTER(lock_init);
    REGISTER(lock_destroy);
    REGISTER(nest_lock);
    REGISTER(cancel);
    REGISTER(error);
    REGISTER(control_tool);
    REGISTER(masked);
    REGISTER(reduction);
    REGISTER(device_initialize);
    REGISTER(device_finalize);
    REGISTER(device_load);
    REGISTER(device_unload);
    REGISTER(target_emi);
    REGISTER(target_map_emi);
    REGISTER(target_data_op_emi);
    REGISTER(target_submit_emi);
    line("initialize device=%d data=%lu", device, (unsigned long)data->value);
    data->value = 7;
    return 1;
}

static void finalize(ompt_data_t *data) {
    const char *path = getenv("RECORDER_OUT");
    FILE *out = path ? fopen(path, "w") : stderr;
    line("finalize data=%lu", (unsigned long)data->value);
    fwrite(text, 1, used, out);
    fflush(out);
    used = 0;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {42}};
    line("start version=%u runtime=%s", version, runtime);
    return &result;
}
