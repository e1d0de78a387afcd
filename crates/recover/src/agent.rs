//! The agent: a host of its own that sends delayed and random faults and watches for threads that hang. It exists only if
//! the settings ask for one of these.
//!
//! It is made with raw clone and has no libc identity: it uses raw system calls, the arena and atomics only.

use super::inject;
use super::spec::{Kind, Sent};
use super::watchdog::Watchdog;
use crate::ckpt::{self, credentials, keep};
use crate::icv::{Globals, globals};
use crate::sys::lock::Locked;
use crate::sys::random::Random;
use crate::sys::{futex, host, initial_affinity, signals, time};
use crate::team::registry;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

struct Timer {
    thread: &'static Thread,
    fault: usize,
    kind: Kind,
    due_ns: u64,
    tentative: bool,
    /// Rollbacks at the time it was set: what was set before one does not count after it.
    epoch: u32,
}

static TIMERS: Locked<Vec<Timer>> = Locked::new(Vec::new());
/// Changes when a timer is added: the agent looks again.
static BELL: AtomicU32 = AtomicU32::new(0);
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Do the settings need it?
fn is_needed(g: &Globals) -> bool {
    let timed = super::settings::get().faults.iter().any(|f| f.delay_ns > 0 || f.mtbf_ns.is_some());
    timed || g.promp.watchdog_ns.is_some()
}

/// Starts the agent if the settings need it.
pub(crate) fn start(g: &'static Globals) {
    // It outlives a rollback to a time before there was one.
    let there = keep::if_on().is_some_and(|k| k.freeze.agent.load(Relaxed) != 0);
    if is_needed(g) && !RUNNING.swap(true, Relaxed) && !there {
        credentials::begin();
        let old = signals::block_all();
        spawn(crate::sys::tls::thread_pointer());
        signals::set_mask(old);
    }
}

/// In a process that goes on from a checkpoint, by its keeper: the agent of the former one did not come with it.
pub(crate) fn start_again() {
    if runs()
        && let Some(tp) = host::own_thread_pointer()
    {
        spawn(tp);
    }
}

/// All signals are blocked.
fn spawn(thread_pointer: usize) {
    if let Some(k) = keep::if_on() {
        k.freeze.agent.store(1, Release);
    }
    let ok = host::new_kept_stack().is_some_and(|stack| {
        // SAFETY: a fresh stack; `main` keeps to what a host without identity may do.
        unsafe { host::spawn_with(stack, thread_pointer, main, 0) }.is_some()
    });
    if !ok {
        crate::say!(
            "the system gives no thread that injects delayed faults and watches for hangs (ulimit -u?)"
        );
    }
}

/// Is there an agent?
pub(crate) fn runs() -> bool {
    RUNNING.load(Relaxed)
}

/// In a child after fork the agent is gone; faults are the parent's.
pub(crate) fn after_fork() {
    TIMERS.raw().reset();
    TIMERS.with(Vec::clear);
    RUNNING.store(false, Relaxed);
    credentials::AGENT.store(0, Relaxed);
}

/// Sends a stop to `thread` after `delay_ns`. A tentative one can be taken back.
pub(crate) fn arm(thread: &'static Thread, fault: usize, kind: Kind, delay_ns: u64, tentative: bool) {
    let due_ns = time::now_ns() + delay_ns;
    TIMERS.with(|t| t.push(Timer { thread, fault, kind, due_ns, tentative, epoch: ckpt::epoch() }));
    ring();
}

/// Makes the agent look again.
pub(crate) fn ring() {
    BELL.fetch_add(1, Release);
    futex::wake(&BELL, 1);
}

/// A checkpoint or a rollback is under way: the agent keeps still, holding nothing.
fn rest() {
    let Some(k) = keep::if_on() else { return };
    if k.freeze.agent_rests.compare_exchange(1, 2, AcqRel, Relaxed).is_ok() {
        while k.freeze.agent_rests.load(Acquire) == 2 {
            futex::wait(&k.freeze.agent_rests, 2);
        }
    }
}

/// Takes a tentative strike back.
pub(crate) fn disarm(thread: &'static Thread, fault: usize) {
    let removed = TIMERS.with(|t| {
        let before = t.len();
        t.retain(|x| !(x.tentative && x.fault == fault && core::ptr::eq(x.thread, thread)));
        before - t.len()
    });
    for _ in 0..removed {
        inject::unclaim(fault);
    }
}

unsafe extern "C" fn main(_arg: usize) -> ! {
    // SAFETY: no pointers. The finest timer slack: delays of microseconds are asked for.
    unsafe { crate::sys!(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, 1) };
    initial_affinity::use_all();
    credentials::AGENT.store(crate::sys::syscall::gettid(), Release);
    crate::sys::follow::begin();
    let p = &globals().promp;
    let now = time::now_ns();
    let mut random: Vec<(usize, Random, u64, f64)> = Vec::new();
    for (i, f) in super::settings::get().faults.iter().enumerate() {
        if let Some(mean) = f.mtbf_ns {
            // One for the seed itself: seeds mean what they always have.
            let mut r = Random::new(f.seed);
            r.skip(1);
            // A process that goes on from a checkpoint goes on with the numbers, too.
            let each = if f.kind.sent() == Sent::Process { 1 } else { 2 };
            r.skip(inject::struck(i) * each);
            let due = now + r.exponential(mean as f64);
            random.push((i, r, due, mean as f64));
        }
    }
    let mut watchdog = p.watchdog_ns.map(Watchdog::new);
    if let Some(k) = keep::if_on() {
        k.hosts.own[1].store(crate::sys::syscall::gettid(), Release);
    }
    loop {
        let bell = BELL.load(Acquire);
        rest();
        let now = time::now_ns();
        send_due(now);
        for (i, r, due, mean) in &mut random {
            if now >= *due && strike_random(*i, r) {
                *due = time::now_ns() + r.exponential(*mean);
            }
        }
        let look = watchdog.as_mut().map_or(u64::MAX, |w| {
            w.look();
            w.due_ns()
        });
        let timer = TIMERS.with(|t| t.iter().map(|t| t.due_ns).min()).unwrap_or(u64::MAX);
        let chance = random.iter().map(|(_, _, d, _)| (*d).max(now + 50_000)).min().unwrap_or(u64::MAX);
        crate::sys::death_watch::look_after();
        let until = timer.min(chance).min(look).min(time::now_ns() + crate::sys::death_watch::LOOK_NS);
        if until > time::now_ns() {
            futex::wait_until(&BELL, bell, until);
        }
    }
}

fn send_due(now: u64) {
    loop {
        let due = TIMERS.with(|t| t.iter().position(|x| x.due_ns <= now).map(|i| t.swap_remove(i)));
        let Some(t) = due else { return };
        if t.epoch == ckpt::epoch() {
            inject::send(t.thread, t.kind);
        }
    }
}

/// A random strike, if some thread it may hit is in a region; otherwise it is tried again soon.
fn strike_random(i: usize, r: &mut Random) -> bool {
    let Some(f) = super::settings::get().faults.get(i) else { return false };
    let mut all = registry::threads();
    all.retain(|t| t.is_in_region() && f.thread.is_none_or(|n| t.seat.1.load(Relaxed) == n));
    let whole = f.kind.sent() == Sent::Process;
    if all.is_empty() && !whole {
        return false;
    }
    if inject::claim_random(i) {
        if whole {
            inject::die();
        } else {
            inject::send(all[(r.number() % all.len() as u64) as usize], f.kind);
        }
    }
    true
}
