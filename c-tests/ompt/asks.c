/* A program with a tool of its own (recorder.c), which asks the runtime where it is, and holds the answers
   against what the program knows: levels, frames, states, places. Prints a line for each that is wrong, and
   "asked N". */
#include "recorder.c"
#include <omp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int asked;
#define IS(what, want)                                                                             \
    do {                                                                                           \
        unsigned long w_ = (unsigned long)(what), x_ = (unsigned long)(want);                      \
        __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);                                           \
        if (w_ != x_) printf("%d: %s is %lx, not %lx\n", __LINE__, #what, w_, x_);                 \
    } while (0)

struct is {
    int there, flags, num;
    ompt_data_t *task, *region;
    ompt_frame_t frame;
};

static struct is task_at(int level) {
    struct is i = {0};
    ompt_frame_t *frame = NULL;
    i.there = task_info(level, &i.flags, &i.task, &frame, &i.region, &i.num);
    if (frame) i.frame = *frame;
    return i;
}

static struct is region_at(int level) {
    struct is i = {0};
    i.there = parallel_info(level, &i.region, &i.num);
    return i;
}

/* In a function that the compiler has outlined: its frames, and those of the task around it. */
#define FRAMES(outer)                                                                              \
    do {                                                                                           \
        struct is here_ = task_at(0);                                                              \
        IS(here_.frame.exit_frame.ptr, __builtin_frame_address(1));                                \
        IS(here_.frame.enter_frame.ptr, 0);                                                        \
        IS(here_.frame.exit_frame_flags, ompt_frame_runtime | ompt_frame_framepointer);            \
        IS(state(NULL), ompt_state_work_parallel);                                                 \
        /* What entered the runtime lies in the stack between the two. */                          \
        struct is out_ = task_at(1);                                                               \
        if (omp_get_thread_num() == 0) {                                                           \
            IS(out_.frame.enter_frame.ptr > here_.frame.exit_frame.ptr, 1);                        \
            IS((char *)out_.frame.enter_frame.ptr < (char *)(outer), 1);                           \
        }                                                                                          \
    } while (0)

static void levels(void) {
    void *outer = __builtin_frame_address(0);
    struct is initial = task_at(0);
    IS(initial.there, 2);
    IS(initial.flags, ompt_task_initial);
    IS(initial.frame.exit_frame.ptr, 0);
    IS(state(NULL), ompt_state_work_serial);
    IS(task_at(1).there, 0);
    IS(region_at(0).there, 2);
    IS(region_at(0).num, 1);
    IS(region_at(1).there, 0);
    IS(task_at(-1).there, 0);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
        FRAMES(outer);
        struct is here = task_at(0);
        IS(here.flags, ompt_task_implicit);
        IS(here.num, omp_get_thread_num());
        IS(region_at(0).num, 3);
        IS(region_at(0).region, here.region);
        IS(region_at(1).region, initial.region);
        IS(task_at(1).task, initial.task);
        IS(task_at(2).there, 0);
#pragma omp parallel num_threads(2) if (omp_get_thread_num() != 1)
        {
            IS(task_at(0).frame.exit_frame.ptr, __builtin_frame_address(1));
            IS(task_at(0).num, omp_get_thread_num());
            IS(task_at(1).task, here.task);
            IS(task_at(2).task, initial.task);
            IS(task_at(3).there, 0);
            IS(region_at(0).num, omp_get_num_threads());
            IS(region_at(1).region, here.region);
        }
        IS(task_at(0).task, here.task);
        IS(task_at(0).frame.enter_frame.ptr, 0);
#pragma omp single
        {
            struct is before = task_at(0);
#pragma omp task if (0)
            {
                FRAMES(before.frame.exit_frame.ptr);
                IS(task_at(0).flags, ompt_task_explicit | ompt_task_undeferred);
                IS(task_at(1).task, before.task);
                struct is outer_task = task_at(0);
#pragma omp task final(1)
                {
                    IS(task_at(0).frame.exit_frame.ptr, __builtin_frame_address(1));
                    IS(task_at(0).flags & ompt_task_final, ompt_task_final);
                    void *at = NULL;
                    size_t size = 0;
                    IS(task_memory(&at, &size, 0), 0);
                    IS(size >= sizeof(struct is), 1);
                    /* The task's copy of `outer_task` lies in its memory. */
                    (void)outer_task;
                }
#pragma omp taskwait
            }
        }
    }
    IS(task_at(0).task, initial.task);
}

/* States from a signal handler, in a thread that waits. */
static volatile int seen = -1;
static ompt_wait_id_t waits_for;
static void on_signal(int sig) {
    (void)sig;
    ompt_wait_id_t at = 0;
    int s = state(&at);
    IS(task_at(0).there, 2);
    waits_for = at;
    seen = s;
}

#define UNTIL_SEEN(wanted)                                                                         \
    while (seen != wanted) {                                                                       \
        if (other) pthread_kill(other, SIGUSR1);                                                   \
        usleep(1000);                                                                              \
    }

static volatile pthread_t other;
static omp_lock_t lock_of_states;

/* The second thread waits for something that the first one holds until it has seen that. */
static void state_of(int wanted) {
    other = 0, seen = -1;
#pragma omp parallel num_threads(2)
    {
        int first = omp_get_thread_num() == 0;
        if (first && wanted == ompt_state_wait_lock) omp_set_lock(&lock_of_states);
#pragma omp barrier
        if (!first) other = pthread_self();
        if (wanted == ompt_state_wait_lock) {
            if (first) {
                UNTIL_SEEN(wanted)
                IS(waits_for, &lock_of_states);
            } else {
                omp_set_lock(&lock_of_states);
            }
            omp_unset_lock(&lock_of_states);
        } else if (first) {
            UNTIL_SEEN(wanted)
        }
#pragma omp barrier
    }
}

/* The first thread waits for a task that the second one executes in a barrier; the third one looks. */
static void state_of_taskwait(void) {
    static volatile int started;
    other = 0, seen = -1;
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp task
            {
                started = 1;
                while (seen != ompt_state_wait_taskwait) usleep(100);
            }
            while (!started) usleep(100);
            other = pthread_self();
#pragma omp taskwait
        } else if (omp_get_thread_num() == 2) {
            UNTIL_SEEN(ompt_state_wait_taskwait)
        }
#pragma omp barrier
    }
}

static void states(void) {
    omp_init_lock(&lock_of_states);
    signal(SIGUSR1, on_signal);
    state_of(ompt_state_wait_lock);
    state_of(ompt_state_wait_barrier_explicit);
    state_of_taskwait();
    omp_destroy_lock(&lock_of_states);
}

static void names(void) {
    int now = ompt_state_work_serial, next, n = 1;
    const char *name;
    while (enumerate_states(now, &next, &name)) {
        IS(strncmp(name, "ompt_state_", 11), 0);
        IS(next > now, 1);
        now = next;
        n++;
    }
    IS(n > 10, 1);
    IS(enumerate_states(77, &next, &name), 0);
    IS(enumerate_mutex_impls(ompt_mutex_impl_none, &next, &name), 1);
    IS(enumerate_mutex_impls(next, &next, &name), 0);
}

static void places(void) {
    int list[1000], one[1] = {-7};
    IS(get_num_procs(), omp_get_num_procs());
    IS(get_num_places(), omp_get_num_places());
    IS(get_place_num(), omp_get_place_num());
    for (int p = 0; p < omp_get_num_places(); p++) {
        int ids[1000], n = omp_get_place_num_procs(p);
        omp_get_place_proc_ids(p, ids);
        IS(get_place_proc_ids(p, 1000, list), n);
        IS(memcmp(ids, list, n * sizeof(int)), 0);
        IS(get_place_proc_ids(p, 0, NULL), n);
    }
    IS(get_place_proc_ids(-1, 1, one), 0);
    IS(get_place_proc_ids(omp_get_num_places(), 1, one), 0);
    IS(one[0], -7);
    IS(get_partition_place_nums(1000, list), omp_get_partition_num_places());
    IS(get_proc_id() >= 0, 1);
    IS(get_num_devices(), 0);
    uint64_t device;
    ompt_id_t target, operation;
    IS(get_target_info(&device, &target, &operation), 0);
    unsigned long a = unique(), b = unique();
    IS(a != b && a && b, 1);
    ompt_callback_t f;
    IS(recorder_get_callback(ompt_callback_work, &f), 1);
    IS(f, (ompt_callback_t)work);
    IS(recorder_get_callback(ompt_callback_flush, &f), 0);
    IS(recorder_set_callback(ompt_callback_flush, (ompt_callback_t)work), ompt_set_never);
    IS(recorder_set_callback((ompt_callbacks_t)99, (ompt_callback_t)work), ompt_set_error);
    IS(recorder_set_callback((ompt_callbacks_t)0, (ompt_callback_t)work), ompt_set_error);
    IS(recorder_lookup("ompt_no_such_function"), 0);
    IS(recorder_lookup("ompt_start_trace"), 0);
}

int main(int argc, char **argv) {
    omp_set_dynamic(0);
    (void)omp_get_max_threads();
#pragma omp parallel num_threads(1)
    asm volatile("");
    const char *what = argc > 1 ? argv[1] : "levels";
    if (!strcmp(what, "levels")) levels();
    if (!strcmp(what, "states")) states();
    if (!strcmp(what, "names")) names();
    if (!strcmp(what, "places")) places();
    printf("asked %s\n", asked > 3 ? "enough" : "nothing");
    return 0;
}
