//! Hosts begin to carry logical threads, and cease to: what checkpoints and recovery know of that.

use super::registry;
use super::thread::Thread;
use crate::ckpt;
use crate::sys::host::Identity;
use crate::sys::{signals, syscall};
use core::sync::atomic::Ordering::Relaxed;

/// The calling host carries a logical thread from here on.
pub(crate) fn begin(thr: &'static Thread) {
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
/// read of them. `f` uses none of the program's memory, which a guard may keep shut (`signals::block_all`).
fn unfrozen(f: impl FnOnce(u64)) {
    let mask = signals::set_mask(u64::MAX);
    f(mask);
    signals::set_mask(mask);
}

/// The calling host no longer carries a logical thread.
pub(crate) fn end(thr: &'static Thread) {
    unfrozen(|_| ckpt::seats::unseat(thr));
    registry::leave(thr);
}

/// In a child after fork: only the calling thread is left.
pub(crate) fn after_fork(thr: &'static Thread) {
    registry::after_fork(thr);
    ckpt::after_fork(Some(&thr.seat_number));
}
