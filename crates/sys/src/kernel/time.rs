//! Clocks.

use crate::own::Own;
use crate::sys;

fn ns(ts: libc::timespec) -> u64 {
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is writable; glibc serves the monotonic clock from the vDSO without touching thread-local state on success.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    ns(ts)
}

/// How the kernel numbers the clock CPUCLOCK_SCHED of a single thread (linux/posix-timers.h).
pub fn clock_of_thread(tid: u32) -> libc::clockid_t {
    !(tid as libc::clockid_t) << 3 | 4 | 2
}

/// Nanoseconds of CPU time that a thread of this process has used; 0 if there is none with this kernel thread id.
pub fn of_thread_ns(tid: u32) -> u64 {
    of_clock(clock_of_thread(tid))
}

/// What a clock says in nanoseconds; 0 if there is none with this number.
pub(crate) fn of_clock(clock: libc::clockid_t) -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is writable. Not libc's function: it would change `errno`.
    unsafe { sys!(libc::SYS_clock_gettime, clock, &raw mut ts) };
    ns(ts)
}

/// Nanoseconds of CPU time that the calling kernel thread has used.
pub fn of_caller_ns() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is writable. Not libc's function: it would change `errno`.
    unsafe { sys!(libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID, &raw mut ts) };
    ns(ts)
}

/// How often the calling kernel thread has given up its CPU, or lost it.
pub fn switches_of_caller() -> u64 {
    // SAFETY: all zeros is a value of this type.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: `usage` is writable. Not libc's function: it would change `errno`.
    unsafe { sys!(libc::SYS_getrusage, libc::RUSAGE_THREAD, &raw mut usage) };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}

/// The processor's time stamp counter: ticks of a constant rate, two to four in a nanosecond.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The clocks when the runtime began: ticks, ns.
static BEGAN: Own<(u64, u64)> = Own::new((0, 0));

/// Notes the clocks; once, under the initialisation lock.
pub fn start() {
    BEGAN.set((ticks(), now_ns()));
}

/// What has passed since the runtime began, by both clocks: ticks, ns, at least one of each.
pub fn passed() -> (u64, u64) {
    let (from, from_ns) = BEGAN.get();
    (ticks().wrapping_sub(from).max(1), now_ns().saturating_sub(from_ns).max(1))
}

/// Seconds between two values of [`now_ns`].
pub fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 * 1e-9
}
