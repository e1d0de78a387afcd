/* promp.h - what a program can say to the promp runtime, and ask it. Optional: a program that never includes this file is
 * protected just the same. Every function is weak here, so that a program linked without promp runs too: the inline
 * wrappers then do nothing. C99 and C++11, no dependency.
 */
#ifndef PROMP_H
#define PROMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a thread can fail. */
enum promp_fault { PROMP_KILL = 1, PROMP_CRASH = 2, PROMP_HANG = 3, PROMP_MEMERR = 4, PROMP_DIE = 5 };
/* How the program went on. */
enum promp_recovery { PROMP_RECOMPUTED = 1, PROMP_RESUMED = 2, PROMP_REFUSED = 5 };
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

#if defined(__GNUC__)
#define PROMP_WEAK_ __attribute__((weak))
#else
#define PROMP_WEAK_
#endif

/* 10000 * major + 100 * minor + patch. */
int promp_version(void) PROMP_WEAK_;
/* A place where a checkpoint would be welcome. */
void promp_potential_ckpt(void) PROMP_WEAK_;
/* The next time this thread comes to promp_potential_ckpt, memory in [start, start + bytes) is dead: on
 * every way from there it is written before it is read. A checkpoint taken there leaves it out. In a
 * parallel region every thread of the team says so, and comes to promp_potential_ckpt as often as the
 * others, with a barrier in between (docs/live-sets.md). */
void promp_dead(const void *start, size_t bytes) PROMP_WEAK_;
/* The next construct (or region, if called outside) may (1) or may not (0) be executed again after a failure: executing
 * it again, after any part of it was executed, gives the same result. */
void promp_replayable(int yes) PROMP_WEAK_;
/* PR_FRAGS: the next loop is to be cut into m fragments. */
void promp_frags(int m) PROMP_WEAK_;
/* PR_SCHE for the next loop: enum promp_schedule. */
void promp_recompute(int kind) PROMP_WEAK_;
/* Between the two, kernels of devices are verified together (PROMP_SDC). */
void promp_sdc_checkpoint(void) PROMP_WEAK_;
void promp_sdc_detect(void) PROMP_WEAK_;
/* Makes thread `thread` of the current team fail. 0, or -1 if there is no such thread or kind or PROMP_FT=off. */
int promp_fail(int thread, int kind) PROMP_WEAK_;
/* Reads up to n failures; returns how many there have been. */
size_t promp_failures(struct promp_failure *out, size_t n) PROMP_WEAK_;
void promp_stats(struct promp_statistics *out) PROMP_WEAK_;

/* Is the runtime there? */
static inline int promp_present(void) { return promp_version != 0; }

#define PROMP_CALL(call) (promp_present() ? (void)(call) : (void)0)

#ifdef __cplusplus
}
#endif
#endif
