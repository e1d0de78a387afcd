/* The functions of promp.h for languages that have no weak symbols (Fortran): libpromp-stubs.a. Each looks
 * for the runtime's when it is called first, and does nothing where there is none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

/* The runtime's function `name`, if it is there: not the one here, which a program may export. */
static void *found(const char *name, void *here) {
    void *at = dlsym(RTLD_DEFAULT, name);
    return at == here ? dlsym(RTLD_NEXT, name) : at;
}

#define FUNCTION(type, name, parameters, arguments, without) \
    type name parameters { \
        static type(*of_runtime) parameters; \
        static int looked; \
        if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) { \
            __atomic_store_n(&of_runtime, (type(*) parameters)found(#name, (void *)name), __ATOMIC_RELAXED); \
            __atomic_store_n(&looked, 1, __ATOMIC_RELEASE); \
        } \
        type(*call) parameters = __atomic_load_n(&of_runtime, __ATOMIC_RELAXED); \
        if (!call) return without; \
        return call arguments; \
    }
#define NOTHING

struct promp_failure;
struct promp_statistics;
FUNCTION(int, promp_version, (void), (), 0)
FUNCTION(void, promp_potential_ckpt, (void), (), NOTHING)
FUNCTION(void, promp_dead, (const void *start, size_t bytes), (start, bytes), NOTHING)
FUNCTION(void, promp_replayable, (int yes), (yes), NOTHING)
FUNCTION(void, promp_frags, (int m), (m), NOTHING)
FUNCTION(void, promp_recompute, (int kind), (kind), NOTHING)
FUNCTION(void, promp_sdc_checkpoint, (void), (), NOTHING)
FUNCTION(void, promp_sdc_detect, (void), (), NOTHING)
FUNCTION(int, promp_fail, (int thread, int kind), (thread, kind), -1)
FUNCTION(size_t, promp_failures, (struct promp_failure *out, size_t n), (out, n), 0)
FUNCTION(void, promp_stats, (struct promp_statistics *out), (out), NOTHING)
FUNCTION(size_t, promp_stats_sized, (struct promp_statistics *out, size_t size), (out, size), 0)
FUNCTION(size_t, promp_failures_sized, (struct promp_failure *out, size_t n, size_t size), (out, n, size), 0)
