//! What the kernel keeps of the process and its threads beside memory, files and signals, and a new one would have from whoever made it:
//! threads' names, CPUs and scheduling, and limits on resources.
//!
//! What a process was started with belongs to its surroundings: where it is restarted it may have been given other CPUs or another nice
//! value. So CPUs and scheduling are saved only where they differ from what the process began with.

use super::image::{Attributes, Limit, Scheduling, Word};
use super::own_state::{self, Own};
use super::seats;
use crate::say;
use crate::sys;
use crate::sys::cpu_limit::{self, Resource};
use crate::sys::follow::Call;
use crate::sys::lock::Locked;
use crate::sys::rights;
use crate::sys::scheduling::Scheduling as Sched;
use crate::sys::syscall::CpuSet;
use crate::sys::{allowed, maps, pending, syscall};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// That of thread `tid` (0: the caller).
fn scheduling(tid: u32) -> Option<Scheduling> {
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

/// Kinds of limits (`RLIM_NLIMITS`).
const LIMITS: usize = 16;

/// What the process began with. No memory of its own: it outlives a restart ([`Surroundings`]).
struct Began {
    scheduling: Scheduling,
    /// Soft limits, by resource.
    limits: [u64; LIMITS],
    /// The hard one on CPU time.
    hard_cpu: u64,
    io_priority: u32,
    own: Option<Own>,
}

static BEGAN: Locked<Began> = Locked::new(Began {
    scheduling: Scheduling { policy: 0, nice: 0, priority: 0, flags: 0, times: [0; 3] },
    limits: [u64::MAX; LIMITS],
    hard_cpu: u64::MAX,
    io_priority: 0,
    own: None,
});

/// The process begins: before the program has done anything.
pub fn begin() {
    let limits = core::array::from_fn(|i| resource(i as u32).map_or(u64::MAX, |r| r.soft));
    let began = Began {
        scheduling: scheduling(0).unwrap_or_default(),
        limits,
        hard_cpu: resource(CPU).map_or(u64::MAX, |r| r.hard),
        io_priority: io_priority(0),
        own: Some(Own::of_caller()),
    };
    BEGAN.with(|b| *b = began);
}

/// What a process was started with, kept aside while it gets the memory of the one that it goes on as.
pub struct Surroundings(Began, Option<CpuSet>);

impl Surroundings {
    /// This process'.
    pub fn take() -> Self {
        let none = Began {
            scheduling: Scheduling::default(),
            limits: [u64::MAX; LIMITS],
            hard_cpu: u64::MAX,
            io_priority: 0,
            own: None,
        };
        let began = BEGAN.with(|b| core::mem::replace(b, none));
        Self(began, allowed::at_load().cloned())
    }

    /// They are this process' still, whose memory is the other one's now and which has no threads yet.
    pub fn put_back(self) {
        BEGAN.with(|b| *b = self.0);
        // SAFETY: by the promise.
        unsafe { allowed::renew(self.1) };
    }
}

/// The limit on the stack that the process began with, which decides where mappings lie.
pub fn stack_limit() -> u64 {
    BEGAN.with(|b| b.limits[libc::RLIMIT_STACK as usize])
}

/// What thread `tid` (0: the caller) has of a disk's time: of ioprio_get(2).
fn io_priority(tid: u32) -> u32 {
    const OF_A_THREAD: usize = 1;
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_ioprio_get, OF_A_THREAD, tid, 0) as u32 }
}

/// Those of thread `tid`, which has noted `own`.
pub fn of(tid: u32, own: &Own) -> Attributes {
    let (policy, slack, io) = (own.policy(), own.slack(), io_priority(tid));
    let (same_policy, same_slack, same_io) = BEGAN.with(|b| {
        let o = b.own.as_ref();
        (o.is_some_and(|o| o.policy() == policy), o.is_some_and(|o| o.slack() == slack), b.io_priority == io)
    });
    let status = pending::status(tid).unwrap_or_default();
    let name = maps::read_file(&comm(tid)).unwrap_or_default();
    let began = BEGAN.with(|b| b.scheduling);
    Attributes {
        name: Word::from(name.trim_ascii_end()),
        cpus: CpuSet::of_host(tid)
            .filter(|set| Some(set) != allowed::at_load())
            .map(|set| set.cpus().collect()),
        scheduling: scheduling(tid).filter(|s| *s != began),
        // Also those that the thread does not block: it has them when it goes on.
        pending: pending::set_in(&status, "SigPnd").unwrap_or(0) & !seats::signals(),
        memory_policy: (!same_policy).then_some(policy),
        io_priority: (!same_io).then_some(io),
        timer_slack: (!same_slack).then_some(slack),
        rights: rights::read(&status),
        own: Some(BEGAN.with(|b| own.others(b.own.as_ref()))),
    }
}

/// What host `tid`, which has noted `now` (a new one: what the caller has), must call itself to have those of
/// `a`.
/// The second value: it does without capabilities that have been given up since.
pub fn changes(
    tid: u32,
    now: Option<&Own>,
    a: &Attributes,
    rollback: bool,
) -> Result<(Vec<Call>, bool), String> {
    let callers = Own::of_caller();
    callers.is_made_anew();
    let now = now.unwrap_or(&callers);
    BEGAN.with(|b| own_state::changes(now, rights::of(tid), a, b.own.as_ref().unwrap_or(now), rollback))
}

/// Gives them to thread `tid`, which blocks all signals, as far as the system allows it.
pub fn put_back(tid: u32, a: &Attributes) -> Result<(), String> {
    let _ = std::fs::write(OsStr::from_bytes(comm(tid).as_bytes()), a.name.as_os_str().as_bytes());
    match &a.cpus {
        Some(cpus) => CpuSet::of(cpus).apply(tid),
        None => allowed::at_load().iter().for_each(|set| set.apply(tid)),
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
    for signal in pending::of_set(a.pending) {
        syscall::tgkill(tid, signal);
    }
    let io = a.io_priority.unwrap_or(BEGAN.with(|b| b.io_priority));
    // SAFETY: no pointers.
    if io_priority(tid) != io && unsafe { sys!(libc::SYS_ioprio_set, 1, tid, io) } < 0 {
        return Err("the system does not give a thread its I/O priority back".into());
    }
    Ok(())
}

const CPU: u32 = libc::RLIMIT_CPU;

/// The process' limits, as the program knows them.
pub fn limits() -> Vec<Limit> {
    let now = (0..).map_while(|number| {
        let r = resource(number)?;
        Some((number, if number == CPU { cpu_limit::for_program(r) } else { r }))
    });
    BEGAN.with(|b| {
        now.zip(&b.limits)
            .map(|((resource, r), &began)| {
                let hard = (resource == CPU && r.hard != b.hard_cpu).then_some(r.hard);
                Limit { resource, soft: r.soft, hard, own: r.soft != began }
            })
            .collect()
    })
}

/// Puts the process' limits back, as far as the hard ones allow it. A new process keeps what it has been given
/// more of, unless the program has set that itself: the old one may have ended because of a limit. After CPU
/// time has been put back.
pub fn put_limits_back(limits: &[Limit], new_process: bool) {
    for l in limits {
        let Some(before) = resource(l.resource) else { continue };
        let mut now = before;
        let given = new_process && !l.own;
        now.soft = if given { l.soft.max(now.soft) } else { l.soft };
        if given {
            BEGAN.with(|b| b.limits[l.resource as usize] = now.soft);
        }
        if l.resource == CPU {
            // What the process has been given counts for it alone.
            let own = Resource { soft: now.soft, hard: l.hard.unwrap_or(now.hard) };
            let goes_on = cpu_limit::that_go_on(own);
            now.soft = if l.own { goes_on.soft } else { own.soft };
            now.hard = if l.hard.is_some() { goes_on.hard.min(before.hard) } else { before.hard };
            now.soft = now.soft.min(now.hard);
            cpu_limit::note(Resource { hard: l.hard.unwrap_or(now.hard), ..own }, now);
        }
        now.soft = now.soft.min(now.hard);
        if now != before {
            // SAFETY: the kernel reads two words.
            unsafe { sys!(libc::SYS_prlimit64, 0, l.resource, &raw const now, 0) };
        }
    }
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
