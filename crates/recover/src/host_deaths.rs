//! Threads whose hosts have really ended: by their own system call, by a filter of system calls, by
//! `pthread_exit` in a region, by whatever. Nobody has sent them a stop, so nothing was noted: what was in
//! the registers is lost, and where they were is not known.
//!
//! The kernel clears libc's word for the thread and wakes who sleeps on it; so whoever waits for a long time
//! in the runtime finds it at once (sys/kernel/death_watch.rs), as do the agent and the keeper, where they
//! exist, when nobody else does. The finder, who *claims* the thread, does what the failing host does
//! otherwise (stop.rs): takes the verdict, opens the record, makes the new host.
//!
//! ```text
//! carried (host = id) --the kernel clears the word--> ended --a finder swaps host for 0--> claimed
//! claimed --> carried again (recover::main)
//!         --> rolled back, or the process stops
//! ```
//!
//! `host` decides who does it: of two finders one reads the id, the other 0.
//!
//! The new host is made from the finder, a thread of the program's: it has the finder's rights, filters,
//! scheduling, memory policy and so on. What the ended thread had of its own is gone with it. So it is made
//! only if all threads that are left have the same rights and filters; else it is a case for a checkpoint,
//! which knows what each had.

use super::failure_records::{self, Recovery};
use super::policy::{self, Refusal};
use super::recover::{self, Order, Way};
use super::spec::Kind;
use super::{rollback, stop};
use crate::ckpt::{
    self,
    rollback_limits::{self, Cause},
};
use crate::icv::globals_if_ready;
use crate::say;
use crate::sys::anew;
use crate::sys::death_watch::{self, Watch};
use crate::sys::fp_control::FpControl;
use crate::sys::host::{self, Identity};
use crate::sys::rights;
use crate::sys::syscall::{exit_group, gettid, sched_yield};
use crate::sys::{reach, signals, time, timers};
use crate::team::member::tfd;
use crate::team::registry;
use crate::team::shrink;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// How long the agent and the keeper leave an ended thread to one that waits in the runtime.
const GRACE_NS: u64 = 30_000_000;
/// Endings of one thread at one save point after which it is the program that ends it.
const TRIES: u32 = 2;

/// From now on threads that have ended are found.
pub(crate) fn start() {
    static WATCHED: Watch = Watch { count: registry::count, words, look, look_after, unseen };
    death_watch::begin(&WATCHED);
}

fn words(to: &mut dyn FnMut(&'static AtomicU32)) -> usize {
    registry::try_threads(|all| {
        all.iter().filter_map(|t| t.id_word()).for_each(to);
        all.len()
    })
    .unwrap_or(usize::MAX)
}

/// For signals that are sent to one thread (sys/kernel/reach.rs): see [`Watch::unseen`]. May be asked by
/// handlers, so a lock that somebody else holds is not waited for without end.
fn unseen(thread_pointer: usize, id: u32) -> Option<usize> {
    const TRIES: u32 = 1000;
    let is = |t: &Thread| {
        let of =
            t.identity.get().filter(|i| i.thread_pointer == thread_pointer || t.host.load(Relaxed) == id);
        of.filter(|_| t.id_word().is_some_and(|w| w.load(Acquire) == 0)).map(|i| i.thread_pointer)
    };
    let look = |_| {
        let found = registry::try_threads(|all| all.iter().find_map(|t| is(t)));
        if found.is_none() {
            sched_yield();
        }
        found
    };
    (0..TRIES).find_map(look).flatten()
}

/// One that has.
fn one() -> Option<&'static Thread> {
    registry::try_threads(|all| all.iter().copied().find(|t| t.has_ended())).flatten()
}

/// By a thread of the program's that waits in the runtime: sees to those that have ended.
fn look() {
    while let Some(thr) = one() {
        let id = thr.host.swap(0, AcqRel);
        if id != 0 {
            see_to(thr, id, true);
        }
    }
}

/// By the agent and the keeper: to those that nobody has seen to for a while.
fn look_after() {
    let Some(thr) = one() else { return };
    let now = time::now_ns();
    let since = match thr.ended.compare_exchange(0, now, AcqRel, Acquire) {
        Ok(_) => now,
        Err(since) => since,
    };
    if now - since >= GRACE_NS {
        let id = thr.host.swap(0, AcqRel);
        if id != 0 {
            see_to(thr, id, false);
        }
    }
}

/// `thr`, whose last host was `id`, is the caller's. `by_thread`: a thread of the program's, from which a new
/// host can be made.
#[cold]
fn see_to(thr: &'static Thread, id: u32, by_thread: bool) {
    let Some(g) = globals_if_ready() else { return };
    thr.ended.store(0, Relaxed);
    if !g.promp.ft {
        let p = policy::place(thr);
        say!(
            "thread {} (kernel thread {id}) has ended by itself in region {}, and nothing is recovered with \
             PROMP_FT=off: stopping",
            p.thread,
            p.region
        );
        exit_group(70);
    }
    let mask = signals::block_all();
    let can_be = || alike().and_then(|()| untimed(id)).and_then(|()| replaceable(thr, by_thread));
    match policy::verdict_unseen(thr, TRIES).and_then(|()| can_be()) {
        Ok(identity) => replace(thr, id, identity),
        Err(_) if ckpt::can_roll_back() => match rollback_limits::may_roll_back(Cause::End) {
            Ok(()) => rollback::roll_back_ended(thr, id),
            Err(after) => stop::no_progress(thr, Kind::Ended, after),
        },
        Err(r) => stop::refuse_for_good(thr, Kind::Ended, &r),
    }
    signals::set_mask(mask);
}

fn replaceable(thr: &'static Thread, by_thread: bool) -> Result<Identity, Refusal> {
    match thr.identity.get() {
        Some(identity) if by_thread => Ok(identity),
        _ => Err(Refusal {
            why: "a team in which no thread waits that could make it anew",
            advice: "Set PROMP_CKPT_DIR.",
        }),
    }
}

/// Its timers can be made again.
fn untimed(host: u32) -> Result<(), Refusal> {
    match anew::was_timed(host) {
        false => Ok(()),
        true => Err(Refusal {
            why: "a timer by the CPU time of a thread that has ended (timer_create), which is lost with it",
            advice: "Set PROMP_CKPT_DIR: a checkpoint has it.",
        }),
    }
}

/// Do all threads that are left have the same rights and filters as the caller?
fn alike() -> Result<(), Refusal> {
    let own = rights::of(gettid());
    let others = registry::threads().into_iter().map(|t| t.host.load(Relaxed)).filter(|&id| id != 0);
    match others.filter_map(rights::of).all(|r| Some(&r) == own.as_ref()) {
        true => Ok(()),
        false => Err(Refusal {
            why: "a program whose threads differ in their rights, which are lost with a thread",
            advice: "Set PROMP_CKPT_DIR: a checkpoint has them.",
        }),
    }
}

fn replace(thr: &'static Thread, id: u32, identity: Identity) {
    ckpt::transition_begins();
    ckpt::note_parked_host(id);
    reach::leaves(identity.thread_pointer, id);
    let way = Way::again(thr);
    let failure = failure_records::open(Kind::Ended, policy::place(thr), Recovery::Recompute);
    thr.in_runtime.store(1, Relaxed);
    thr.pending.store(0, Relaxed);
    thr.member().tfd.store(tfd::FAILED, Release);
    shrink::thread_failed();
    if let Some(w) = thr.id_word() {
        // As the new host shall find it, which knows by it what the thread's locks of libc's have noted. Not
        // ended any more.
        w.store(id, Release);
    }
    let stack = host::new_stack();
    let order: &'static Order = Box::leak(Box::new(Order {
        thread: thr,
        way,
        failure,
        identity,
        anew: None,
        signals: Vec::new(),
        timers: timers::left_by(id),
        fp: FpControl::read(),
        stack: stack.map_or(0, |s| s as usize),
        gone: AtomicU32::new(0),
    }));
    // SAFETY: a fresh stack; `recover::main` keeps to what a spare host may do. The ended host touches no
    // memory any more.
    let made =
        stack.and_then(|s| unsafe { host::spawn(s, recover::main, core::ptr::from_ref(order) as usize) });
    if made.is_none() {
        ckpt::transition_is_over();
        let r = Refusal {
            why: "a process that cannot get another host (thread)",
            advice: "Raise the limit on threads (ulimit -u) or memory.",
        };
        stop::refuse_for_good(thr, Kind::Ended, &r);
    }
}
