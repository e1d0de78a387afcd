//! Locks, critical sections and the atomic fallback: futex locks in the program's own words, and the count of what a
//! logical thread holds. A logical thread keeps its locks when its host is replaced: the lock's word is all the state.

use crate::fault::{inject, spec::At};
use crate::sys::lock::Lock;
use crate::team::thread::Thread;
use crossbeam_utils::CachePadded;

/// The unnamed critical section.
pub static CRITICAL: CachePadded<Lock> = CachePadded::new(Lock::new());
/// What `GOMP_atomic_start` locks.
pub static ATOMIC: CachePadded<Lock> = CachePadded::new(Lock::new());

/// Takes `lock` for `thr`.
#[inline]
pub fn acquire(thr: &'static Thread, lock: &Lock) {
    lock.lock();
    thr.hold(1);
    inject::point(thr, At::Critical);
}

/// Gives `lock` back.
#[inline]
pub fn release(thr: &'static Thread, lock: &Lock) {
    lock.unlock();
    thr.hold(-1);
}

/// Takes `lock` if it is free.
pub fn try_acquire(thr: &'static Thread, lock: &Lock) -> bool {
    let got = lock.try_lock();
    if got {
        thr.hold(1);
        inject::point(thr, At::Critical);
    }
    got
}
