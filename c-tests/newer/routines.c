// Routines of OpenMP 6 and functions of newer GCCs, called by
// their names: says what is not as the manual has it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <omp.h>

extern void omp_get_device_distances(int, const int *, int *);
extern const char *omp_get_uid_from_device(int);
extern int omp_get_device_from_uid(const char *);
extern int omp_get_num_threads_dim(int), omp_get_thread_num_dim(int), omp_get_num_teams_dim(int);
extern int omp_get_team_num_dim(int), omp_get_thread_limit_dim(int);
extern int omp_get_supported_active_team_dims(int, int), omp_get_supported_threads_dim(int, int);
extern void *omp_target_memset(void *, int, size_t, int);
extern void *omp_target_memset_async(void *, int, size_t, int, int, omp_depend_t *);
extern int omp_control_tool(int, int, void *);
extern long omp_get_interop_int(size_t, int, int *);
extern const char *omp_get_interop_str(size_t, int, int *), *omp_get_interop_name(size_t, int);
extern const char *omp_get_interop_rc_desc(size_t, int);
extern void omp_get_interop_name_(const char **, size_t *, size_t, int);
extern int omp_get_num_interop_properties(size_t);
extern void GOMP_interop(int, int, size_t **, const int *, const char **, int, size_t **, int, size_t **,
                         unsigned, void **);
extern void *GOMP_alloc(size_t, size_t, size_t), GOMP_free(void *, size_t), GOMP_add_alloc(void *);
extern _Bool GOMP_is_alloc(void *);
extern void *GOMP_target_map_indirect_ptr(void *);

static int wrong;
#define IS(what, value) \
    do { long is = (long)(what), wanted = (long)(value); \
        if (is != wanted) { wrong++; printf("%s is %ld, not %ld\n", #what, is, wanted); } } while (0)

// KiB of the process that are locked.
static long locked(void) {
    char line[100];
    long n = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmLck: %ld", &n);
    if (f) fclose(f);
    return n;
}

int main(void) {
    enum { INITIAL = -1, INVALID = -4, DEFAULT = -5 };
    int devices[4] = { INITIAL, 0, DEFAULT, 3 }, far[4] = { 9, 9, 9, 9 };
    omp_get_device_distances(4, devices, far);
    IS(far[0] | far[1] | far[2], 0);
    IS(far[3], -1);
    for (int d = -6; d < 3; d++) {
        const char *uid = omp_get_uid_from_device(d);
        int host = d == INITIAL || d == 0 || d == DEFAULT;
        IS(uid && !strcmp(uid, "OMP_INITIAL_DEVICE"), host);
    }
    IS(omp_get_device_from_uid("OMP_INITIAL_DEVICE"), INITIAL);
    IS(omp_get_device_from_uid("another"), INVALID);
    int numbers = 0;
#pragma omp parallel num_threads(3) reduction(+:numbers)
    if (omp_get_num_threads_dim(0) == 3 && omp_get_num_threads_dim(1) == 1 && omp_get_thread_num_dim(2) == 0)
        numbers += 1 + omp_get_thread_num_dim(0);
    IS(numbers, 6);
    IS(omp_get_num_teams_dim(0), 1);
    IS(omp_get_team_num_dim(1), 0);
    IS(omp_get_thread_limit_dim(1), 1);
    IS(omp_get_supported_active_team_dims(0, 1), 1);
    IS(omp_get_supported_threads_dim(0, 1), 1);
    unsigned char bytes[8] = { 0 };
    IS(omp_target_memset(bytes + 1, 0x1ff, 3, INITIAL) == bytes + 1, 1);
    IS(bytes[0] + bytes[1] + bytes[2] + bytes[3] + bytes[4], 3 * 255);
    IS(omp_target_memset_async(bytes, 7, 8, 0, 0, 0) == bytes, 1);
    IS(bytes[7], 7);
    IS(omp_control_tool(1, 0, 0), -2);
    size_t x = 5, y = 6, *list[2] = { &x, &y };
    int types[2] = { 1, 2 }, result = 99;
    GOMP_interop(DEFAULT, 2, list, types, 0, 0, 0, 0, 0, 0, 0);
    IS(x | y, 0);
    IS(omp_get_num_interop_properties(x), 0);
    IS(omp_get_interop_int(x, -1, &result), 0);
    IS(result, -1);
    IS(omp_get_interop_str(x, -10, &result) == 0, 1);
    IS(result, -2);
    IS(strcmp(omp_get_interop_name(x, -7), "device"), 0);
    IS(omp_get_interop_name(x, 0) == 0, 1);
    IS(strcmp(omp_get_interop_rc_desc(x, 0), "successful"), 0);
    const char *text = 0;
    size_t len = 0;
    omp_get_interop_name_(&text, &len, x, -9);
    IS(len, strlen("targetsync"));
    omp_get_interop_name_(&text, &len, x, -10);
    IS(text == 0 && len == 0, 1);
    void *block = GOMP_alloc(64, 100, 1), *other = malloc(100);
    IS((size_t)block % 64, 0);
    IS(GOMP_is_alloc(block), 0);
    GOMP_add_alloc(block);
    IS(GOMP_is_alloc(block), 1);
    IS(GOMP_is_alloc(other), 0);
    GOMP_free(block, 0);
    IS(GOMP_is_alloc(block), 0);
    free(other);
    IS(GOMP_target_map_indirect_ptr(&x) == &x, 1);
    // Memory routines take the numbers of the initial and the default device.
    char from[4] = "abc", to[4] = "";
    IS(omp_target_memcpy(to, from, 4, 0, 0, INITIAL, DEFAULT), 0);
    IS(strcmp(from, to), 0);
    IS(omp_target_is_present(from, INITIAL), 1);
    // Predefined allocators of GNU's: pinned memory, and managed memory, for which there is ordinary memory.
    void *pinned = omp_alloc(5000, (omp_allocator_handle_t)200);
    if (pinned) memset(pinned, 1, 5000);
    omp_free(pinned, (omp_allocator_handle_t)200);
    // Small blocks share pages: little may be locked.
    char *small[10];
    long before = locked();
    for (int i = 0; i < 10; i++) small[i] = omp_calloc(10, 7, (omp_allocator_handle_t)200);
    if (small[0]) {
        IS(locked() - before, 4);
        for (int i = 0; i < 10; i++) memset(small[i], i + 1, 70);
        small[3] = omp_realloc(small[3], 200, (omp_allocator_handle_t)200, (omp_allocator_handle_t)200);
        IS(locked() - before, 4);
        for (int i = 0; i < 10; i++) IS(small[i][0] == i + 1 && small[i][69] == i + 1, 1);
        for (int i = 0; i < 10; i++) omp_free(small[i], (omp_allocator_handle_t)200);
        IS(locked(), before);
    }
    IS(omp_target_is_accessible(bytes, 1, INITIAL), 1);
    IS(omp_target_is_accessible(bytes, 0, INITIAL), 0);
    IS(omp_target_is_accessible(0, 1, INITIAL), 0);
    char *managed = omp_alloc(10, (omp_allocator_handle_t)201);
    IS(managed != 0, 1);
    memset(managed, 1, 10);
    omp_free(managed, (omp_allocator_handle_t)201);
    puts(wrong ? "wrong" : "right");
    return wrong != 0;
}
