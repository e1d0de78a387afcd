/* Tools that do what they should not, as the variable BAD says. */
#include <dlfcn.h>
#include <omp-tools.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *bad;
static int is(const char *what) { return !strcmp(bad, what); }
static int calls;

/* The runtime's functions, as the program would call them. */
#define CALL(type, name) ((type)dlsym(RTLD_DEFAULT, #name))

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region, unsigned asked,
                           int flags, const void *site) {
    static long lock;
    (void)task, (void)frame, (void)region, (void)asked, (void)flags, (void)site;
    calls++;
    if (is("crash")) *(volatile int *)8 = 1;
    if (is("region")) CALL(void (*)(void (*)(void *), void *, unsigned, unsigned), GOMP_parallel)
    ((void (*)(void *))free, NULL, 2, 0);
    if (is("calls")) {
        CALL(void (*)(void *), omp_set_lock)(&lock);
        if (CALL(int (*)(void), omp_get_thread_num)() != 0) fprintf(stderr, "wrong number\n");
        CALL(void (*)(void *), omp_unset_lock)(&lock);
    }
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t at, const void *site) {
    (void)kind, (void)at, (void)site;
    fprintf(stderr, "told of its own lock\n");
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    (void)device, (void)data;
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_mutex_acquired, (ompt_callback_t)mutex_acquired);
    if (is("early")) {
        int me = CALL(int (*)(void), omp_get_thread_num)();
        if (me != 0 || CALL(int (*)(void), omp_get_max_threads)() < 1) fprintf(stderr, "wrong\n");
    }
    return !is("unwilling");
}

static void finalize(ompt_data_t *data) {
    (void)data;
    fprintf(stderr, "regions: %d\n", calls);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    bad = getenv("BAD") ? getenv("BAD") : "";
    if (is("empty")) result.initialize = NULL, result.finalize = NULL;
    return is("null") ? NULL : &result;
}
