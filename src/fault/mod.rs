//! Fault tolerance: what fails, how it is noticed, and the recovery ladder. See README.md beside this file
//! for the states and the order of events.

pub mod added;
pub mod after;
pub mod agent;
pub mod credit;
pub mod ended;
pub mod freed;
pub mod gauge;
pub mod grid;
pub mod inject;
pub mod library;
pub mod no_regions;
pub mod pace;
pub mod place;
pub mod policy;
pub mod publish;
pub mod record;
pub mod recover;
pub mod report;
pub mod resume;
pub mod rollback;
pub mod runtime;
pub mod save;
pub mod saving;
pub mod seen;
pub mod settings;
pub mod stop;
pub mod undo;
pub mod unmade;
pub mod unsaved;
pub mod verify;
pub mod visits;
pub mod watchdog;

use crate::ckpt;
use crate::icv::Globals;
use crate::sys::host::Identity;
use crate::sys::{reach, signals, syscall};
use crate::team::registry;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
pub use promp_settings::spec;

/// Before the program begins, which is to have checkpoints: what leaves signals open in threads that block
/// them (ckpt/interpose/lost.rs) needs their handlers.
pub fn begins_with_checkpoints() {
    let _ = stop::install(false);
}

/// Prepares what the settings ask for; runs once, under the initialisation lock.
pub fn initialise(g: &'static Globals) {
    // The report asks for them.
    let faults = &settings::begin().faults;
    report::start(g);
    ended::start();
    ckpt::start(g.promp.ft, g.promp.verbose);
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
        ckpt::seats::seat(thr, tid);
    });
    registry::enter(thr);
    ckpt::first();
}

/// No checkpoint finds the caller in the middle of `f`: a rollback would clear the seats, but not what it has
/// read of them.
fn unfrozen(f: impl FnOnce(u64)) {
    let mask = signals::block_all();
    f(mask);
    signals::set_mask(mask);
}

/// The calling host no longer carries a logical thread.
pub fn thread_ended(thr: &'static Thread) {
    unfrozen(|_| ckpt::seats::unseat(thr));
    registry::leave(thr);
}

/// In a child after fork: only the caller is left, and the agent is gone.
pub fn after_fork(thr: &'static Thread) {
    registry::after_fork(thr);
    ckpt::after_fork(Some(&thr.seat_number));
    agent::after_fork();
    inject::after_fork();
}
