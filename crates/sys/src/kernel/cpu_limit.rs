//! The limit on CPU time (RLIMIT_CPU) goes on. The kernel counts for each process anew, so in a restarted one
//! what the program had used before is taken off a limit that it has set: it strikes when it would have. The
//! program's calls of libc's functions lead here and tell it what it has set.

use crate::got::calls_instead;
use crate::lock::Locked;
use crate::sys;
use crate::syscall::getpid;
use crate::{cpu_time, signals};
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The kernel's `struct rlimit64`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// What a signal tells of.
    pub soft: u64,
    /// What ends the process.
    pub hard: u64,
}

impl Resource {
    fn zip(self, o: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self { soft: f(self.soft, o.soft), hard: f(self.hard, o.hard) }
    }
}

const NONE: u64 = u64::MAX;

/// How much lower the kernel's limits are than those that the program has set: soft and hard one, seconds.
/// Relaxed: where several threads set a limit and ask for it at once, any order is right.
static LESS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The process for which that holds. Relaxed: written in it, where LESS is.
static OF: AtomicU32 = AtomicU32::new(0);
/// How many threads are making processes that are to have whole limits.
static WHOLE: Locked<u32> = Locked::new(0);

fn less() -> Resource {
    Resource { soft: LESS[0].load(Relaxed), hard: LESS[1].load(Relaxed) }
}

/// Limits of the kernel's as the program knows them.
pub fn for_program(kernels: Resource) -> Resource {
    kernels.zip(less(), |k, less| if k == NONE { NONE } else { k.saturating_add(less) })
}

/// A limit as it is for the kernel where `used` seconds have been used before. At least a second, which is
/// the least that it counts.
fn for_kernel(limit: u64, used: u64) -> u64 {
    match limit {
        0 | NONE => limit,
        s => s.saturating_sub(used).max(1),
    }
}

/// The kernel's limits in place of `own`, the program's, which count from the program's start. They are noted
/// when they are set: [`note`].
pub fn that_go_on(own: Resource) -> Resource {
    let used = cpu_time::seconds_before();
    Resource { soft: for_kernel(own.soft, used), hard: for_kernel(own.hard, used) }
}

/// The kernel has `kernels` in place of `programs`.
pub fn note(programs: Resource, kernels: Resource) {
    LESS[0].store(programs.soft.saturating_sub(kernels.soft), Relaxed);
    LESS[1].store(programs.hard.saturating_sub(kernels.hard), Relaxed);
    OF.store(getpid(), Relaxed);
}

fn set(r: Resource) -> bool {
    // SAFETY: the kernel reads two words.
    unsafe { sys!(libc::SYS_prlimit64, 0, libc::RLIMIT_CPU, &raw const r, 0) == 0 }
}

fn kernels() -> Resource {
    let mut now = Resource::default();
    // SAFETY: the kernel writes two words.
    unsafe { sys!(libc::SYS_prlimit64, 0, libc::RLIMIT_CPU, 0, &raw mut now) };
    now
}

/// The calling process gets the limits that the program has set. A hard one that has been lowered only root
/// raises again.
fn make_whole() {
    let now = kernels();
    let whole = for_program(now);
    if !set(whole) {
        set(Resource { soft: whole.soft.min(now.hard), hard: now.hard });
    }
}

/// A child after fork has used nothing.
pub fn after_fork() {
    WHOLE.raw().reset();
    WHOLE.with(|n| *n = 0);
    if less() != Resource::default() {
        make_whole();
        let now = kernels();
        note(now, now);
    }
}

/// The calling process executes another program: if it is a child that has come about without fork (vfork) it
/// has used nothing, and these words are its parent's.
pub fn executes() {
    if less() != Resource::default() && OF.load(Relaxed) != getpid() {
        make_whole();
    }
}

/// Is something taken off that a child should have?
pub fn is_lower() -> bool {
    less() != Resource::default() || WHOLE.with(|n| *n != 0)
}

/// Executes `f`, which makes a process, with the limits that the program has set: the child inherits them.
pub fn for_children<R>(f: impl FnOnce() -> R) -> R {
    if cpu_time::seconds_before() == 0 || !is_lower() {
        return f();
    }
    // A thread is not stopped between a limit and what is noted of it.
    let change = |by: i32| {
        let mask = signals::block_all();
        WHOLE.with(|n| {
            let first = *n == 0 && by > 0;
            *n = n.saturating_add_signed(by);
            if first || *n == 0 {
                let programs = for_program(kernels());
                if first {
                    make_whole();
                } else {
                    set(that_go_on(programs));
                }
                note(programs, kernels());
            }
        });
        signals::set_mask(mask);
    };
    change(1);
    let r = f();
    change(-1);
    r
}

/// Changes what the kernel has written.
///
/// # Safety
/// `at` is null, or limits.
unsafe fn tell(at: *mut Resource) {
    if !at.is_null() {
        // SAFETY: by the caller's promise.
        unsafe { *at = for_program(*at) };
    }
}

/// The limits that the kernel is to have in place of `new`, which may be null or nonsense; both.
///
/// # Safety
/// `new` is null, or limits.
unsafe fn instead_of(new: *const Resource) -> Option<(Resource, Resource)> {
    // SAFETY: by the caller's promise.
    let new = unsafe { new.as_ref() }?;
    Some((*new, that_go_on(*new)))
}

/// Is it the limit of this process, and has something been taken off, or would be?
fn is_other(pid: c_int, resource: c_uint) -> bool {
    let own = pid == 0 || pid as u32 == getpid();
    own && resource == libc::RLIMIT_CPU && (cpu_time::seconds_before() != 0 || less() != Resource::default())
}

macro_rules! limits {
    ($($get:ident $set:ident $both:ident)*) => {
        calls_instead! {$(
            fn $get(resource: c_uint, at: *mut Resource) -> c_int = |real| {
                let r = real();
                if r == 0 && is_other(0, resource) {
                    // SAFETY: libc has written it.
                    unsafe { tell(at) };
                }
                r
            };
            fn $set(resource: c_uint, new: *const Resource) -> c_int {
                let other = if is_other(0, resource) { instead_of(new) } else { None };
                let new = other.as_ref().map_or(new, |o| &raw const o.1);
            } = |real| {
                let r = real();
                if let (0, Some((programs, kernels))) = (r, other) {
                    note(programs, kernels);
                }
                r
            };
            fn $both(pid: c_int, resource: c_uint, new: *const Resource, old: *mut Resource) -> c_int {
                let is = is_other(pid, resource);
                let other = if is { instead_of(new) } else { None };
                let new = other.as_ref().map_or(new, |o| &raw const o.1);
            } = |real| {
                let r = real();
                if r == 0 && is {
                    // SAFETY: libc has written it.
                    unsafe { tell(old) };
                }
                if let (0, Some((programs, kernels))) = (r, other) {
                    note(programs, kernels);
                }
                r
            };
        )*}
    };
}

limits! {
    getrlimit setrlimit prlimit
    getrlimit64 setrlimit64 prlimit64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_been_used_is_taken_off() {
        assert_eq!([10, 4, 3, 0, NONE].map(|s| for_kernel(s, 3)), [7, 1, 1, 0, NONE]);
        assert_eq!(for_kernel(10, 0), 10);
    }
}
