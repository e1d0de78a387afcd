//! What the kernel keeps of a thread and tells others, too: its name, CPUs, scheduling, and what waits for
//! it. What only the thread itself can tell: own_state.rs.

use super::{BEGAN, values};
use crate::image::{Attributes, Scheduling, Word};
use crate::own_state::{self, Own};
use crate::say;
use crate::seats;
use crate::sys;
use crate::sys::follow::Call;
use crate::sys::rights;
use crate::sys::scheduling::Scheduling as Sched;
use crate::sys::syscall::CpuSet;
use crate::sys::{initial_affinity, maps, pending_signals, syscall};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// That of thread `tid` (0: the caller).
pub(super) fn scheduling(tid: u32) -> Option<Scheduling> {
    Sched::of(tid).map(|Sched { policy, flags, nice, priority, times, .. }| Scheduling {
        policy,
        nice,
        priority,
        flags,
        times,
    })
}

fn schedule(tid: u32, s: Scheduling) -> bool {
    Sched::new(s.policy, s.flags, s.nice, s.priority, s.times).give(tid)
}

/// What thread `tid` (0: the caller) has of a disk's time: of ioprio_get(2).
pub(super) fn io_priority(tid: u32) -> u32 {
    const OF_A_THREAD: usize = 1;
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_ioprio_get, OF_A_THREAD, tid, 0) as u32 }
}

/// Those of thread `tid`, which has noted `own`.
pub(crate) fn of(tid: u32, own: &Own) -> Attributes {
    let (policy, slack, io) = (own.policy(), own.slack(), io_priority(tid));
    let (same_policy, same_slack, same_io) = BEGAN.with(|b| {
        let o = b.own.as_ref();
        (o.is_some_and(|o| o.policy() == policy), o.is_some_and(|o| o.slack() == slack), b.io_priority == io)
    });
    let status = pending_signals::status(tid).unwrap_or_default();
    let name = maps::read_file(&comm(tid)).unwrap_or_default();
    let began = BEGAN.with(|b| b.scheduling);
    Attributes {
        name: Word::from(name.trim_ascii_end()),
        cpus: CpuSet::of_host(tid)
            .filter(|set| Some(set) != initial_affinity::at_load())
            .map(|set| set.cpus().collect()),
        scheduling: scheduling(tid).filter(|s| *s != began),
        // Also those that the thread does not block: it has them when it goes on.
        pending: pending_signals::set_in(&status, "SigPnd").unwrap_or(0) & !seats::signals(),
        memory_policy: (!same_policy).then_some(policy),
        io_priority: (!same_io).then_some(io),
        timer_slack: (!same_slack).then_some(slack),
        rights: rights::read(&status),
        own: Some(BEGAN.with(|b| own.others(b.own.as_ref()))),
    }
}

/// What host `tid`, which has noted `now` (a new one: what the caller has), must call itself to have those of
/// `a`. `of_process`: the process' values, as saved. The second value: it does without capabilities that have
/// been given up since.
pub(crate) fn changes(
    tid: u32,
    now: Option<&Own>,
    a: &Attributes,
    of_process: &[(String, u64)],
    rollback: bool,
) -> Result<(Vec<Call>, bool), String> {
    let callers = Own::of_caller();
    callers.is_made_anew();
    let now = now.unwrap_or(&callers);
    let rights = rights::of(tid);
    let changes = BEGAN.with(|b| own_state::changes(now, rights, a, b.own.as_ref().unwrap_or(now), rollback));
    let (mut calls, less) = changes?;
    // The kernel takes that back where a process becomes another user's.
    if calls.iter().any(|c| OF_USERS.contains(&(c[0] as i64)))
        && let Some([what, to]) = values::dumpable(of_process)
    {
        calls.push([libc::SYS_prctl as usize, what, to, 0, 0, 0]);
    }
    Ok((calls, less))
}

/// System calls that make a thread another user's.
const OF_USERS: [i64; 5] =
    [libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setfsuid, libc::SYS_setfsgid, libc::SYS_capset];

/// Gives them to thread `tid`, which blocks all signals, as far as the system allows it.
pub(crate) fn put_back(tid: u32, a: &Attributes) -> Result<(), String> {
    let _ = std::fs::write(OsStr::from_bytes(comm(tid).as_bytes()), a.name.as_os_str().as_bytes());
    match &a.cpus {
        Some(cpus) => CpuSet::of(cpus).apply(tid),
        None => initial_affinity::at_load().iter().for_each(|set| set.apply(tid)),
    }
    let wanted = a.scheduling.unwrap_or(BEGAN.with(|b| b.scheduling));
    let now = scheduling(tid);
    if now != Some(wanted) && !schedule(tid, wanted) {
        // Less of the CPU changes no result; another policy may.
        let (same, now) = (now.is_some_and(|n| n.policy == wanted.policy), now.unwrap_or_default());
        if !same {
            return Err(format!(
                "a thread had scheduling policy {}, which the system does not give it (it has {})",
                wanted.policy, now.policy
            ));
        }
        say!(
            "the system does not give a thread its priority back: it has nice value {}, had {}",
            now.nice,
            wanted.nice
        );
    }
    for signal in pending_signals::of_set(a.pending) {
        syscall::tgkill(tid, signal);
    }
    let io = a.io_priority.unwrap_or(BEGAN.with(|b| b.io_priority));
    // SAFETY: no pointers.
    if io_priority(tid) != io && unsafe { sys!(libc::SYS_ioprio_set, 1, tid, io) } < 0 {
        return Err("the system does not give a thread its I/O priority back".into());
    }
    Ok(())
}

/// Where the name of thread `tid` is read and written.
fn comm(tid: u32) -> CString {
    CString::new(format!("/proc/self/task/{tid}/comm")).unwrap_or_default()
}
