//! Fault tolerance: what fails, how it is noticed, and the recovery ladder. See README.md beside this file
//! for the states and the order of events.

pub(crate) mod added;
pub(crate) mod after;
pub(crate) mod agent;
pub(crate) mod credit;
pub(crate) mod ended;
pub(crate) mod gauge;
pub(crate) mod inject;
pub(crate) mod library;
pub(crate) mod no_regions;
pub(crate) mod pace;
pub(crate) mod place;
pub(crate) mod policy;
pub(crate) mod publish;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod rollback;
pub(crate) mod runtime;
pub(crate) mod save;
pub(crate) mod saving;
pub(crate) mod settings;
pub(crate) mod stop;
pub(crate) mod unmade;
pub(crate) mod unsaved;
pub(crate) mod verify;
pub(crate) mod visits;
pub(crate) mod watchdog;

use crate::ckpt;
use crate::icv::Globals;
use crate::sys::host::Identity;
use crate::sys::{reach, signals, syscall};
use crate::team::registry;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
pub(crate) use promp_settings::spec;

/// Before the program begins, which is to have checkpoints: what leaves signals open in threads that block
/// them (ckpt/interpose/lost.rs) needs their handlers.
pub(crate) fn begins_with_checkpoints() {
    let _ = stop::install(false);
}

/// Prepares what the settings ask for; runs once, under the initialisation lock.
pub(crate) fn initialise(g: &'static Globals) {
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
pub(crate) fn thread_started(thr: &'static Thread) {
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
pub(crate) fn thread_ended(thr: &'static Thread) {
    unfrozen(|_| ckpt::seats::unseat(thr));
    registry::leave(thr);
}

/// In a child after fork: only the caller is left, and the agent is gone.
pub(crate) fn after_fork(thr: &'static Thread) {
    registry::after_fork(thr);
    ckpt::after_fork(Some(&thr.seat_number));
    agent::after_fork();
    inject::after_fork();
}
