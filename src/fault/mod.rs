//! Fault tolerance: what fails, how it is noticed, and the recovery ladder. See README.md beside this file for the states
//! and the order of events.

pub mod after;
pub mod agent;
pub mod ended;
pub mod inject;
pub mod join;
pub mod library;
pub mod place;
pub mod policy;
pub mod publish;
pub mod record;
pub mod recover;
pub mod report;
pub mod resume;
pub mod save;
pub mod saving;
pub mod settings;
pub mod spec;
pub mod stop;
pub mod tables;
pub mod undo;
pub mod unsaved;
pub mod verify;
pub mod visits;
pub mod watchdog;

use crate::ckpt;
use crate::icv::Globals;
use crate::sys::host::Identity;
use crate::sys::lock::Locked;
use crate::sys::{reach, signals, syscall};
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static THREADS: Locked<Vec<&'static Thread>> = Locked::new(Vec::new());
/// How many they are, for those who look without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Prepares what the settings ask for; runs once, under the initialisation lock.
pub fn initialise(g: &'static Globals) {
    // The report asks for them.
    let faults = &settings::begin(g).faults;
    report::start(g);
    ended::start();
    ckpt::start(g);
    if g.promp.ft {
        reach::begin();
        record::start(g);
        let _ = stop::install(g.promp.takes_crashes);
        inject::start(g);
        place::start(g);
        verify::start(g);
        agent::start(g);
    } else if !faults.is_empty() && g.promp.verbose >= 1 {
        crate::say!("PROMP_FAULT is ignored because PROMP_FT=off");
    }
}

/// The calling host carries a logical thread from here on.
pub fn thread_started(thr: &'static Thread) {
    unfrozen(|mask| {
        let tid = syscall::gettid();
        thr.identity.set(Some(Identity::of_caller(mask)));
        thr.ended.store(0, Relaxed);
        thr.host.store(tid, Relaxed);
        ckpt::keep::seat(thr, tid);
    });
    change_threads(|v| v.push(thr));
    ckpt::first();
}

/// No checkpoint finds the caller in the middle of `f`: a rollback would clear the seats, but not what it has read of them.
fn unfrozen(f: impl FnOnce(u64)) {
    let mask = signals::block_all();
    f(mask);
    signals::set_mask(mask);
}

/// The calling host no longer carries a logical thread.
pub fn thread_ended(thr: &'static Thread) {
    unfrozen(|_| ckpt::keep::unseat(thr));
    change_threads(|v| v.retain(|t| !core::ptr::eq(*t, thr)));
}

fn change_threads(change: impl FnOnce(&mut Vec<&'static Thread>)) {
    THREADS.with(|v| {
        change(v);
        COUNT.store(v.len(), Relaxed);
    });
}

/// How many logical threads there are.
pub fn thread_count() -> usize {
    COUNT.load(Relaxed)
}

/// All logical threads.
pub fn threads() -> Vec<&'static Thread> {
    with_threads(<[_]>::to_vec)
}

/// [`threads`], without a copy.
pub fn with_threads<R>(f: impl FnOnce(&[&'static Thread]) -> R) -> R {
    THREADS.with(|v| f(v))
}

/// [`with_threads`], if nobody else is at it.
pub fn try_threads<R>(f: impl FnOnce(&[&'static Thread]) -> R) -> Option<R> {
    THREADS.try_with(|v| f(v))
}

/// In a child after fork: only the caller is left, and the agent is gone.
pub fn after_fork(thr: &'static Thread) {
    THREADS.raw().reset();
    change_threads(|v| *v = vec![thr]);
    ckpt::after_fork(Some(thr));
    agent::after_fork();
    inject::after_fork();
}
