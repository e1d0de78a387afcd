//! All logical threads that a host carries.

use super::thread::Thread;
use crate::sys::lock::Locked;
use crate::sys::time::of_thread_ns;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static THREADS: Locked<Vec<&'static Thread>> = Locked::new(Vec::new());
/// How many they are, for those who look without the lock. Relaxed: a hint.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn change(change: impl FnOnce(&mut Vec<&'static Thread>)) {
    THREADS.with(|v| {
        change(v);
        COUNT.store(v.len(), Relaxed);
    });
}

/// How many there are.
pub fn count() -> usize {
    COUNT.load(Relaxed)
}

/// A host carries `thr` from here on.
pub(crate) fn enter(thr: &'static Thread) {
    change(|v| v.push(thr));
}

/// No host carries it any more.
pub(crate) fn leave(thr: &'static Thread) {
    change(|v| v.retain(|t| !core::ptr::eq(*t, thr)));
}

/// All of them.
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

/// What CPU time the pool's workers, and other threads that are in a region or begin or end one now, have
/// used since it was asked last (cpu_yield.rs).
pub(crate) fn cpu_time_of_members() -> u64 {
    let used = |t: &&Thread| {
        let now = of_thread_ns(t.host.load(Relaxed));
        let since = now.saturating_sub(t.used.swap(now, Relaxed));
        if t.worker.get() || t.is_in_region() || t.in_runtime.load(Relaxed) != 0 { since } else { 0 }
    };
    with_threads(|all| all.iter().map(used).sum())
}

/// In a child after fork: only the caller is left.
pub(crate) fn after_fork(thr: &'static Thread) {
    THREADS.raw().reset();
    change(|v| *v = vec![thr]);
}
