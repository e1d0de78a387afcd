//! What the kernel keeps of the process and its threads beside memory, files and signals, and a new one would have from whoever made it:
//! threads' names, CPUs and scheduling, and limits on resources.
//!
//! What a process was started with belongs to its surroundings: where it is restarted it may have been given other CPUs or another nice
//! value. So CPUs and scheduling are saved only where they differ from what the process began with.

use super::image::{Attributes, Limit, Scheduling, Word};
use super::seats;
use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::syscall::CpuSet;
use crate::sys::{allowed, maps, pending, syscall};
use core::mem::size_of;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// The kernel's `struct sched_attr`, as far as it is needed.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of SCHED_DEADLINE, whose threads cannot make others.
    times: [u64; 3],
}

/// That of thread `tid` (0: the caller).
fn scheduling(tid: u32) -> Option<Scheduling> {
    let mut a = SchedAttr::default();
    // SAFETY: the kernel writes at most the given bytes.
    let r = unsafe { sys!(libc::SYS_sched_getattr, tid, &raw mut a, size_of::<SchedAttr>(), 0) };
    (r == 0).then_some(Scheduling { policy: a.policy, nice: a.nice, priority: a.priority })
}

fn schedule(tid: u32, s: Scheduling) {
    let size = size_of::<SchedAttr>() as u32;
    let a = SchedAttr { size, policy: s.policy, nice: s.nice, priority: s.priority, ..SchedAttr::default() };
    // SAFETY: the kernel reads the structure.
    unsafe { sys!(libc::SYS_sched_setattr, tid, &raw const a, 0) };
}

/// What the process began with.
struct Began {
    scheduling: Scheduling,
    /// Soft limits, by resource.
    limits: Vec<u64>,
}

static BEGAN: Locked<Began> =
    Locked::new(Began { scheduling: Scheduling { policy: 0, nice: 0, priority: 0 }, limits: Vec::new() });

/// The process begins: before the program has done anything.
pub fn begin() {
    let limits = (0..).map_while(resource).map(|r| r.soft).collect();
    BEGAN.with(|b| *b = Began { scheduling: scheduling(0).unwrap_or_default(), limits });
}

/// The limit on the stack that the process began with, which decides where mappings lie.
pub fn stack_limit() -> u64 {
    BEGAN.with(|b| b.limits.get(libc::RLIMIT_STACK as usize).copied().unwrap_or(u64::MAX))
}

/// Those of thread `tid`, which blocks the signals `blocked`.
pub fn of(tid: u32, blocked: u64) -> Attributes {
    let ours = seats::signals();
    let name = maps::read_file(&comm(tid)).unwrap_or_default();
    let began = BEGAN.with(|b| b.scheduling);
    Attributes {
        name: Word::from(name.trim_ascii_end()),
        cpus: CpuSet::of_host(tid)
            .filter(|set| Some(set) != allowed::at_load())
            .map(|set| set.cpus().collect()),
        scheduling: scheduling(tid).filter(|s| *s != began),
        pending: if blocked & !ours == 0 { 0 } else { pending::of_host(tid, ours) & blocked },
    }
}

/// Gives them to thread `tid`, which blocks all signals, as far as the system allows it.
pub fn put_back(tid: u32, a: &Attributes) {
    let _ = std::fs::write(OsStr::from_bytes(comm(tid).as_bytes()), a.name.as_os_str().as_bytes());
    match &a.cpus {
        Some(cpus) => CpuSet::of(cpus).apply(tid),
        None => allowed::at_load().iter().for_each(|set| set.apply(tid)),
    }
    let wanted = a.scheduling.unwrap_or(BEGAN.with(|b| b.scheduling));
    if scheduling(tid) != Some(wanted) {
        schedule(tid, wanted);
    }
    for signal in pending::of_set(a.pending) {
        syscall::tgkill(tid, signal);
    }
}

/// The process' limits.
pub fn limits() -> Vec<Limit> {
    let now = (0..).map_while(|number| Some((number, resource(number)?.soft)));
    BEGAN.with(|b| {
        now.zip(&b.limits)
            .map(|((resource, soft), &began)| Limit { resource, soft, own: soft != began })
            .collect()
    })
}

/// Puts the process' limits back, as far as the hard ones allow it. A new process keeps what it has been given more of, unless the program has set
/// that itself: the old one may have ended because of a limit.
pub fn put_limits_back(limits: &[Limit], new_process: bool) {
    for l in limits {
        let Some(mut now) = resource(l.resource) else { continue };
        let soft = if new_process && !l.own { l.soft.max(now.soft) } else { l.soft }.min(now.hard);
        if soft != now.soft {
            now.soft = soft;
            // SAFETY: the kernel reads two words.
            unsafe { sys!(libc::SYS_prlimit64, 0, l.resource, &raw const now, 0) };
        }
    }
}

/// The kernel's `struct rlimit64`.
#[repr(C)]
#[derive(Default)]
struct Resource {
    soft: u64,
    hard: u64,
}

fn resource(number: u32) -> Option<Resource> {
    let mut r = Resource::default();
    // SAFETY: the kernel writes two words.
    let ok = unsafe { sys!(libc::SYS_prlimit64, 0, number, 0, &raw mut r) } == 0;
    ok.then_some(r)
}

/// Where the name of thread `tid` is read and written.
fn comm(tid: u32) -> CString {
    CString::new(format!("/proc/self/task/{tid}/comm")).unwrap_or_default()
}
