//! Locks, critical sections and the atomic fallback: futex locks in the program's own words, and the count of what a
//! logical thread holds. A logical thread keeps its locks when its host is replaced: the lock's word is all the state.

use crate::observe;
use crate::observe::event::{Event, Mutex, Pause, Set};
use crate::sys::lock::Lock;
use crate::team::thread::Thread;
use crossbeam_utils::CachePadded;

/// The unnamed critical section.
pub static CRITICAL: CachePadded<Lock> = CachePadded::new(Lock::new());
/// What `GOMP_atomic_start` locks.
pub static ATOMIC: CachePadded<Lock> = CachePadded::new(Lock::new());

/// What `GOMP_reduction_start` locks: a merge may contain an atomic operation.
pub static REDUCTION: CachePadded<Lock> = CachePadded::new(Lock::new());

/// Takes `lock` for `thr`, as what `mutex` says.
#[inline]
pub fn acquire(thr: &'static Thread, lock: &Lock, mutex: Mutex) {
    if observe::wants(const { Set::LOCKS.and(Set::PAUSES) }) {
        return tell_acquire(thr, lock, mutex);
    }
    lock.lock_watched();
    thr.hold(1);
}

/// Gives `lock` back.
#[inline]
pub fn release(thr: &'static Thread, lock: &Lock, mutex: Mutex) {
    lock.unlock();
    thr.hold(-1);
    thr.tell(Event::LockGive { mutex, at: address(lock) });
}

/// Takes `lock` if it is free.
pub fn try_acquire(thr: &'static Thread, lock: &Lock, mutex: Mutex) -> bool {
    thr.tell(Event::LockWait { mutex, at: address(lock), test: true });
    let got = lock.try_lock();
    if got {
        thr.hold(1);
        thr.tell(Event::LockGot { mutex, at: address(lock) });
    }
    got
}

#[cold]
#[inline(never)]
fn tell_acquire(thr: &'static Thread, lock: &Lock, mutex: Mutex) {
    thr.tell(Event::LockWait { mutex, at: address(lock), test: false });
    if !lock.try_lock() {
        let pause = Pause::Lock { mutex, at: address(lock) };
        thr.tell(Event::PauseBegin { pause });
        lock.lock_watched();
        thr.tell(Event::PauseEnd { pause });
    }
    thr.hold(1);
    thr.tell(Event::LockGot { mutex, at: address(lock) });
}

/// What a lock is called in events: where the program has it.
pub fn address<T>(lock: &T) -> usize {
    core::ptr::from_ref(lock).addr()
}
