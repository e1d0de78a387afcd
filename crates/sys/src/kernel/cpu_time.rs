//! CPU time goes on. The kernel counts it for each of its threads and for the process, so a logical thread's
//! begins anew on another host, and everything after a restart: a program that has a limit of its own by one
//! would use again what it has used.
//!
//! So what a thread had used before its present host, and the process before its present one, is noted here,
//! and the program's calls of libc's functions lead here (as with those of sys/glibc/mutexes.rs: from the
//! first change of a host on, or from the beginning with checkpoints): `clock_gettime`, `clock`, `times`,
//! `getrusage`, `clock_nanosleep`. Clocks that are named by a former host's id mean the thread.
//!
//! In a rollback nothing goes back: what has been used has been used. The notes are memory of the program's,
//! which does go back; hosts that become threads then write theirs anew ([`at_least`]).

use crate::got::calls_instead;
use crate::sys;
use crate::{cpu_limit, host, mutexes, syscall, time, tls};
use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// What has been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Nanoseconds, as CPU-time clocks have them.
    pub ns: u64,
    /// Microseconds of it in the program and in the system, as getrusage(2) has them.
    pub user: u64,
    /// The latter.
    pub system: u64,
}

impl Used {
    fn zip(self, o: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self { ns: f(self.ns, o.ns), user: f(self.user, o.user), system: f(self.system, o.system) }
    }

    fn plus(self, o: Self) -> Self {
        self.zip(o, u64::wrapping_add)
    }
}

/// Words of a `struct rusage`: user and system time (seconds, microseconds), and others.
type Usage = [u64; 18];

fn usage(who: c_int) -> Used {
    let mut r: Usage = [0; 18];
    // SAFETY: the kernel writes a rusage.
    unsafe { sys!(libc::SYS_getrusage, who, r.as_mut_ptr()) };
    Used { ns: 0, user: r[0] * 1_000_000 + r[1], system: r[2] * 1_000_000 + r[3] }
}

fn clock(id: c_int) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a time.
    unsafe { sys!(libc::SYS_clock_gettime, id, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// What one thread had used before its present host. It counts as long as `host` is that.
struct Before {
    thread_pointer: AtomicUsize,
    host: AtomicU32,
    used: [AtomicU64; 3],
}

/// Threads that can be noted. More are not: their clocks begin anew.
const THREADS: usize = 2048;

/// By the number that a thread's descriptor hashes to, or behind that.
static BEFORE: [Before; THREADS] = [const {
    Before {
        thread_pointer: AtomicUsize::new(0),
        host: AtomicU32::new(0),
        used: [const { AtomicU64::new(0) }; 3],
    }
}; THREADS];
/// Is any noted?
static ANY: AtomicU32 = AtomicU32::new(0);

/// What the process had used before the present one, and its children, which it had waited for.
static PROCESS: [[AtomicU64; 3]; 2] = [const { [const { AtomicU64::new(0) }; 3] }; 2];

fn read(words: &[AtomicU64; 3]) -> Used {
    let [ns, user, system] = words.each_ref().map(|w| w.load(Relaxed));
    Used { ns, user, system }
}

fn write(words: &[AtomicU64; 3], u: Used) {
    words.iter().zip([u.ns, u.user, u.system]).for_each(|(w, v)| w.store(v, Relaxed));
}

/// The thread's place, or a free one.
fn place(thread_pointer: usize, free: bool) -> Option<&'static Before> {
    let first = thread_pointer >> 12;
    for i in 0..THREADS {
        let b = &BEFORE[(first + i) % THREADS];
        match b.thread_pointer.load(Acquire) {
            0 if !free => return None,
            0 => match b.thread_pointer.compare_exchange(0, thread_pointer, AcqRel, Acquire) {
                Ok(_) => return Some(b),
                Err(other) if other == thread_pointer => return Some(b),
                Err(_) => {}
            },
            p if p == thread_pointer => return Some(b),
            _ => {}
        }
    }
    None
}

/// What the thread with this thread pointer had used before host `tid`.
fn before(thread_pointer: usize, tid: u32) -> Used {
    if ANY.load(Relaxed) == 0 {
        return Used::default();
    }
    let is = |b: &&Before| b.host.load(Acquire) == tid;
    place(thread_pointer, false).filter(is).map_or(Used::default(), |b| read(&b.used))
}

/// What the calling thread has used, whose host is `tid`.
pub fn of_thread(thread_pointer: usize, tid: u32) -> Used {
    let here = Used { ns: time::of_caller_ns(), ..usage(libc::RUSAGE_THREAD) };
    before(thread_pointer, tid).plus(here)
}

/// The calling host, `tid`, has become that of a thread that had used `used`.
pub fn goes_on(thread_pointer: usize, tid: u32, used: Used) {
    let here = Used { ns: time::of_caller_ns(), ..usage(libc::RUSAGE_THREAD) };
    note(thread_pointer, tid, used.zip(here, u64::wrapping_sub));
}

fn note(thread_pointer: usize, tid: u32, used: Used) {
    let Some(b) = place(thread_pointer, true) else { return };
    b.host.store(0, Relaxed);
    write(&b.used, used);
    b.host.store(tid, Release); // the edge to `before` by others
    ANY.store(1, Relaxed);
}

/// After memory has been put back: the calling host, `tid`, is that of a thread that had used `used` at the
/// checkpoint. What it has used since counts, too, if the host was the thread's then.
pub fn at_least(thread_pointer: usize, tid: u32, used: Used) {
    if of_thread(thread_pointer, tid).ns < used.ns {
        goes_on(thread_pointer, tid, used);
    }
}

/// What the process has used, and what its children that it has waited for have.
pub fn of_process() -> [Used; 2] {
    let here = [
        Used { ns: clock(libc::CLOCK_PROCESS_CPUTIME_ID), ..usage(libc::RUSAGE_SELF) },
        usage(libc::RUSAGE_CHILDREN),
    ];
    [read(&PROCESS[0]).plus(here[0]), read(&PROCESS[1]).plus(here[1])]
}

/// Whole seconds that the program had used before the present process.
pub(crate) fn seconds_before() -> u64 {
    // Less than nothing where putting it back took more.
    (PROCESS[0][0].load(Relaxed) as i64).max(0) as u64 / 1_000_000_000
}

/// Had it used any before the present one?
fn has_gone_on() -> bool {
    PROCESS.iter().flatten().any(|w| w.load(Relaxed) != 0)
}

/// In a new process, whose memory has been put back: the program had used so much.
pub fn process_goes_on(used: [Used; 2]) {
    PROCESS.iter().for_each(|p| write(p, Used::default()));
    let here = of_process();
    for ((p, u), h) in PROCESS.iter().zip(used).zip(here) {
        // What it took to put it back does not count.
        write(p, u.zip(h, u64::wrapping_sub));
    }
}

/// A child after fork has used nothing.
pub fn after_fork() {
    PROCESS.iter().for_each(|p| write(p, Used::default()));
    ANY.store(0, Relaxed);
    cpu_limit::after_fork();
}

/// The thread whose clock has this number ([`time::clock_of_thread`]), if it is one's.
pub fn thread_of(id: c_int) -> Option<u32> {
    (id < 0 && id & 7 == 4 | 2).then_some(!(id >> 3) as u32)
}

/// The clock that is meant by `id`, and what had been used before it began.
fn meant(id: c_int) -> (c_int, u64) {
    if id == libc::CLOCK_PROCESS_CPUTIME_ID {
        return (id, PROCESS[0][0].load(Relaxed));
    }
    if id == libc::CLOCK_THREAD_CPUTIME_ID {
        let tp = tls::thread_pointer();
        // SAFETY: the caller's.
        let tid = unsafe { host::id_of(tp) }.unwrap_or_else(syscall::gettid);
        return (id, before(tp, tid).ns);
    }
    let Some(tid) = thread_of(id).filter(|_| ANY.load(Relaxed) != 0) else { return (id, 0) };
    let of = |p: usize| (p, host::id_if_there(p));
    let former = || mutexes::ids_before().find(|b| b.1 == tid).map(|b| of(b.0));
    // Of a former host of a thread, or of a present one that follows another.
    let now = BEFORE.iter().find(|b| b.host.load(Acquire) == tid).map(|b| of(b.thread_pointer.load(Relaxed)));
    match now.filter(|n| n.1 == Some(tid)).or_else(former) {
        Some((tp, Some(host))) => (time::clock_of_thread(host), before(tp, host).ns),
        _ => (id, 0),
    }
}

/// The clock by which the kernel counts for a timer by clock `id`: a thread's by its host's number, so that
/// it says whose it is.
pub fn for_timer(id: c_int) -> c_int {
    match meant(id).0 {
        libc::CLOCK_THREAD_CPUTIME_ID => time::clock_of_thread(syscall::gettid()),
        clock => clock,
    }
}

/// Is there any clock of CPU time that says more than the kernel's?
pub fn is_ahead() -> bool {
    ANY.load(Relaxed) != 0 || has_gone_on()
}

/// What the program had used by the kernel's clock `clock` before that began.
pub fn before_clock(clock: c_int) -> u64 {
    // Thread 0: the calling one.
    meant(if thread_of(clock) == Some(0) { libc::CLOCK_THREAD_CPUTIME_ID } else { clock }).1
}

/// Adds nanoseconds to a time that the kernel has written.
///
/// # Safety
/// `at` is a time.
unsafe fn add(at: *mut libc::timespec, ns: u64) {
    // SAFETY: by the caller's promise.
    let t = unsafe { &mut *at };
    let all = (t.tv_sec as u64 * 1_000_000_000).wrapping_add(t.tv_nsec as u64).wrapping_add(ns);
    (t.tv_sec, t.tv_nsec) = ((all / 1_000_000_000) as i64, (all % 1_000_000_000) as i64);
}

/// clock_gettime(2) for clocks of CPU time.
///
/// # Safety
/// `at` is a time, or what the kernel refuses.
unsafe fn get(id: c_int, at: *mut libc::timespec) -> c_long {
    let (clock, before) = meant(id);
    // SAFETY: the kernel writes a time.
    let r = unsafe { sys!(libc::SYS_clock_gettime, clock, at) };
    if r == 0 && before != 0 {
        // SAFETY: by the caller's promise.
        unsafe { add(at, before) };
    }
    crate::reach::with_errno(r)
}

/// Is it one of CPU time?
pub(crate) fn is_of_cpu(id: c_int) -> bool {
    id < 0 || id == libc::CLOCK_PROCESS_CPUTIME_ID || id == libc::CLOCK_THREAD_CPUTIME_ID
}

/// Adds to the first two times of a `struct rusage` what was used before.
///
/// # Safety
/// `at` is a rusage.
unsafe fn add_usage(who: c_int, at: *mut Usage) {
    let more = match who {
        libc::RUSAGE_SELF => read(&PROCESS[0]),
        libc::RUSAGE_CHILDREN => read(&PROCESS[1]),
        libc::RUSAGE_THREAD => {
            let tp = tls::thread_pointer();
            // SAFETY: the caller's.
            before(tp, unsafe { host::id_of(tp) }.unwrap_or_else(syscall::gettid))
        }
        _ => return,
    };
    // SAFETY: by the caller's promise.
    let r = unsafe { &mut *at };
    for (i, more) in [more.user, more.system].into_iter().enumerate() {
        // A new host's part in the system may be larger than that of all before it.
        let all = (r[2 * i] * 1_000_000 + r[2 * i + 1]).wrapping_add(more);
        (r[2 * i], r[2 * i + 1]) = (all / 1_000_000, all % 1_000_000);
    }
}

calls_instead! {
    fn clock_gettime(id: c_int, at: *mut libc::timespec) -> c_int = |real| {
        // SAFETY: the caller's arguments.
        if is_of_cpu(id) { unsafe { get(id, at) as c_int } } else { real() }
    };
    fn clock() -> c_long = |real| {
        match real() {
            -1 => -1,
            t if !has_gone_on() => t,
            _ => (of_process()[0].ns / 1000) as c_long,
        }
    };
    fn times(at: *mut [c_long; 4]) -> c_long = |real| {
        let r = real();
        if r != -1 && !at.is_null() && has_gone_on() {
            // Not a sum of ticks: two parts of one would be lost.
            let all = of_process().map(|u| [u.user, u.system].map(|us| us as c_long / 10_000));
            // SAFETY: libc has written four words there.
            unsafe { &mut *at }.iter_mut().zip(all.concat()).for_each(|(t, ticks)| *t = ticks);
        }
        r
    };
    fn getrusage(who: c_int, at: *mut Usage) -> c_int = |real| {
        let r = real();
        if r == 0 {
            // SAFETY: libc has written it.
            unsafe { add_usage(who, at) };
        }
        r
    };
    fn clock_nanosleep(id: c_int, flags: c_int, until: *const libc::timespec, left: *mut libc::timespec)
        -> c_int {
            let here = until_here(id, flags, until);
            let until = here.as_ref().map_or(until, core::ptr::from_ref);
            let id = meant(id).0;
        } = |real| real();
}

/// When a sleep until a time of a clock of CPU time ends by the kernel's clock.
///
/// # Safety
/// `until` is a time, or what the kernel refuses.
unsafe fn until_here(id: c_int, flags: c_int, until: *const libc::timespec) -> Option<libc::timespec> {
    if !is_of_cpu(id) || flags & libc::TIMER_ABSTIME == 0 || until.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let t = unsafe { *until };
    let ns = t.tv_sec.checked_mul(1_000_000_000)?.checked_add(t.tv_nsec)?;
    let here = ns.saturating_sub(meant(id).1 as i64).max(0);
    (t.tv_sec >= 0).then_some(libc::timespec { tv_sec: here / 1_000_000_000, tv_nsec: here % 1_000_000_000 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_goes_on_where_it_was() {
        let (tp, tid) = (tls::thread_pointer(), syscall::gettid());
        let used = Used { ns: 7_000_000_000, user: 5_000_000, system: 2_000_000 };
        let first = of_thread(tp, tid);
        goes_on(tp, tid, used);
        let now = of_thread(tp, tid);
        assert!(now.ns >= used.ns && now.ns < used.ns + 1_000_000_000, "{now:?}");
        at_least(tp, tid, Used { ns: 1, ..used });
        assert!(of_thread(tp, tid).ns >= now.ns);
        at_least(tp, tid, Used { ns: used.ns * 2, ..used });
        assert!(of_thread(tp, tid).ns >= used.ns * 2);
        // Another thread with the same descriptor, later.
        assert!(of_thread(tp, tid + 1).ns < used.ns);
        goes_on(tp, tid, first);
    }

    #[test]
    fn a_process_goes_on_where_it_was() {
        let used = Used { ns: 9_000_000_000, user: 8_000_000, system: 1_000_000 };
        process_goes_on([used, Used { ns: 0, ..used }]);
        let now = of_process();
        assert!(now[0].ns >= used.ns && now[0].ns < used.ns + 60_000_000_000, "{now:?}");
        assert!(now[1].user >= used.user, "{now:?}");
        PROCESS.iter().for_each(|p| write(p, Used::default()));
    }

    #[test]
    fn clocks_have_names() {
        assert_eq!(thread_of(time::clock_of_thread(1234)), Some(1234));
        assert_eq!([thread_of(3), thread_of(0)], [None, None]);
        assert!(is_of_cpu(time::clock_of_thread(1)) && !is_of_cpu(libc::CLOCK_MONOTONIC));
    }
}
