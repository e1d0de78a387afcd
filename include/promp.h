/* promp.h - what a program can say to the promp runtime, and ask it. Optional: a program that never includes
 * this file is protected just the same. C99 and C++11, no dependency; a program that is linked and run without
 * promp does what it does otherwise.
 */
#ifndef PROMP_H
#define PROMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version that this file is of; promp_version() is that of the runtime which is there. */
#define PROMP_VERSION_MAJOR 0
#define PROMP_VERSION_MINOR 1
#define PROMP_VERSION_PATCH 0
#define PROMP_VERSION (10000 * PROMP_VERSION_MAJOR + 100 * PROMP_VERSION_MINOR + PROMP_VERSION_PATCH)

/* How a thread can fail. */
enum promp_fault {
    PROMP_KILL = 1,   /* its host stopped at an arbitrary instruction */
    PROMP_CRASH = 2,  /* SIGSEGV, SIGBUS, SIGFPE, SIGILL */
    PROMP_HANG = 3,   /* no progress (PROMP_WATCHDOG) */
    PROMP_MEMERR = 4, /* memory of it is lost */
    PROMP_DIE = 5,    /* the whole process was killed */
    PROMP_ENDED = 6,  /* its host has ended by itself, or was ended by a system call */
    PROMP_SDC = 7     /* a silent error: so far the report alone has these */
};
/* How the program went on. */
enum promp_recovery {
    PROMP_RECOMPUTED = 1,  /* lost work was executed again */
    PROMP_RESUMED = 2,     /* nothing was lost */
    PROMP_ROLLED_BACK = 3, /* memory was put back to a checkpoint */
    PROMP_RESTARTED = 4,   /* the process was restarted from one */
    PROMP_REFUSED = 5      /* it did not: the process ends */
};
/* PR_SCHE: how lost iterations are scheduled over the survivors. */
enum promp_schedule { PROMP_STATIC = 1, PROMP_DYNAMIC = 2 };

/* One failure: an entry of the thread failure descriptor, and what became of it. */
struct promp_failure {
    uint32_t kind;            /* enum promp_fault */
    uint32_t thread;          /* logical thread number in its team */
    uint64_t region;          /* ordinal of the outermost parallel region, from 1 */
    uint64_t lost_iterations; /* that had to be executed again */
    uint32_t recovery;        /* enum promp_recovery */
    uint32_t recovered;       /* 1 when everything lost has been recovered */
    double recovery_s;        /* seconds from the failure until then */
};

struct promp_statistics {
    uint64_t regions;  /* outermost parallel regions started */
    uint64_t chunks;   /* chunks handed out in regions that have ended */
    uint64_t failures; /* failures so far */
    uint64_t workers;  /* worker threads created */
};

/* Each function has its name, may be called where the runtime is not there, and then does nothing: what there is
 * of the runtime is a weak symbol behind it. (promp-cc, which knows some of them by name, sees to that itself.)
 */
#if defined(__GNUC__)
#define PROMP_INLINE_ static inline __attribute__((always_inline))
#define PROMP_SYMBOL_(type, name, parameters) \
    extern type name##_ parameters __asm__(#name) __attribute__((weak));
#define PROMP_VOID_(name, parameters, arguments) \
    PROMP_SYMBOL_(void, name, parameters) \
    PROMP_INLINE_ void name parameters { \
        if (name##_) name##_ arguments; \
    }
#define PROMP_VALUE_(type, name, parameters, arguments, without) \
    PROMP_SYMBOL_(type, name, parameters) \
    PROMP_INLINE_ type name parameters { return name##_ ? name##_ arguments : without; }
#else
#define PROMP_VOID_(name, parameters, arguments) void name parameters;
#define PROMP_VALUE_(type, name, parameters, arguments, without) type name parameters;
#endif
#if defined(__PROMP_CC__)
#define PROMP_DIRECTIVE_(name, parameters, arguments) void name parameters __attribute__((weak));
#else
#define PROMP_DIRECTIVE_ PROMP_VOID_
#endif

/* 10000 * major + 100 * minor + patch; 0 where there is no runtime. */
PROMP_VALUE_(int, promp_version, (void), (), 0)
/* A place where a checkpoint would be welcome. */
PROMP_DIRECTIVE_(promp_potential_ckpt, (void), ())
/* The next time this thread comes to promp_potential_ckpt, memory in [start, start + bytes) is dead: on
 * every way from there it is written before it is read. A checkpoint taken there leaves it out. In a
 * parallel region every thread of the team says so, and comes to promp_potential_ckpt as often as the
 * others, with a barrier in between (docs/internals/live-sets.md). */
PROMP_VOID_(promp_dead, (const void *start, size_t bytes), (start, bytes))
/* The next construct (or region, if called outside) may (1) or may not (0) be executed again after a failure:
 * executing it again, after any part of it was executed, gives the same result. */
PROMP_VOID_(promp_replayable, (int yes), (yes))
/* PR_FRAGS: the next loop is to be cut into m fragments. */
PROMP_DIRECTIVE_(promp_frags, (int m), (m))
/* PR_SCHE for the next loop: enum promp_schedule. */
PROMP_DIRECTIVE_(promp_recompute, (int kind), (kind))
/* Between the two, kernels of devices are verified together (PROMP_SDC). */
PROMP_DIRECTIVE_(promp_sdc_checkpoint, (void), ())
PROMP_DIRECTIVE_(promp_sdc_detect, (void), ())
/* Makes thread `thread` of the current team fail. 0, or -1 if there is no such thread, kind or runtime, or
 * PROMP_FT=off. */
PROMP_VALUE_(int, promp_fail, (int thread, int kind), (thread, kind), -1)
/* Reads up to n failures; returns how many there have been. */
PROMP_VALUE_(size_t, promp_failures, (struct promp_failure *out, size_t n), (out, n), 0)
PROMP_VOID_(promp_stats, (struct promp_statistics *out), (out))
/* The same with the sizes that this program knows, so that structures can grow: what the runtime knows more
 * of is left out, what it knows less of is 0. Return the size that the runtime knows, and how many failures
 * there have been; 0 without a runtime, and nothing is written. */
PROMP_VALUE_(size_t, promp_stats_sized, (struct promp_statistics *out, size_t size), (out, size), 0)
PROMP_VALUE_(size_t, promp_failures_sized, (struct promp_failure *out, size_t n, size_t size),
             (out, n, size), 0)

/* Is the runtime there? */
static inline int promp_present(void) { return promp_version() != 0; }

#define PROMP_CALL(call) (promp_present() ? (void)(call) : (void)0)

#ifdef __cplusplus
}
#endif
#endif
