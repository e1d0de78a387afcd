//! The crew: hosts that share the keeper's work on memory, one for each CPU but the keeper's own. While the threads are frozen the CPUs
//! have nothing else to do; while they run, work on one CPU only would hold up a whole team that waits for each other.

use crate::keep;
use crate::own_hosts::CREW;
use crate::round::Round;
use crate::sys::limits;
use crate::sys::{host, preserved_memory as region};
use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::OnceLock;

/// CPUs that the process may use.
pub(crate) fn cpus() -> u64 {
    limits::at_load().len().max(1) as u64
}

/// Memory is as fast as it gets with so many hosts.
pub(crate) const MOST: usize = CREW;

type Work = *const (dyn Fn(usize) + Sync);

struct Shared {
    round: Round,
    work: Cell<Option<Work>>,
    pieces: Cell<usize>,
    next: AtomicUsize,
}

// SAFETY: the cells are written by the keeper while no round is open, and read by helpers inside one.
unsafe impl Sync for Shared {}

/// The helpers, as the keeper sees them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Crew(Option<&'static Shared>);

impl Crew {
    /// Makes the helpers' hosts, if they are not there. By the keeper, which looks for hosts that it does not know only afterwards.
    pub(crate) fn hire(&mut self) {
        if self.0.is_some() {
            return;
        }
        let shared: &'static Shared = region::leak(Shared {
            round: Round::new(),
            work: Cell::new(None),
            pieces: Cell::new(0),
            next: AtomicUsize::new(0),
        });
        self.0 = Some(shared);
        for own in keep::get().hosts.crew.iter().take(limits::at_load().len().saturating_sub(1)) {
            let (Some(stack), Some(tp)) = (host::new_kept_stack(), host::own_thread_pointer()) else {
                return;
            };
            // SAFETY: a fresh stack and a control block of its own; `main` keeps to what such a host may do.
            let tid = unsafe { host::spawn_with(stack, tp, main, core::ptr::from_ref(shared) as usize) };
            let Some(tid) = tid else { return };
            own.store(tid, Relaxed);
        }
    }

    /// Does `work(i)` for all i < `pieces`, shared with the helpers that come in time.
    pub(crate) fn share(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let Some(shared) = self.0.filter(|_| pieces > 1) else { return (0..pieces).for_each(work) };
        // SAFETY: only the lifetime changes; nobody uses it when the round is closed, which is before this returns.
        shared.work.set(Some(unsafe { core::mem::transmute::<&(dyn Fn(usize) + Sync), Work>(work) }));
        shared.pieces.set(pieces);
        shared.next.store(0, Relaxed);
        shared.round.open();
        shared.take_part();
        shared.round.close();
        shared.work.set(None);
    }

    /// `work(i)` for all i < `pieces`, in order, done as by [`Crew::share`].
    pub(crate) fn map<T: Send + Sync>(&self, pieces: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
        let done: Vec<OnceLock<T>> = (0..pieces).map(|_| OnceLock::new()).collect();
        self.share(pieces, &|i| drop(done[i].set(work(i)))); // nobody else does this piece
        done.into_iter().filter_map(OnceLock::into_inner).collect()
    }
}

impl Shared {
    /// In an open round: does pieces until none is left.
    fn take_part(&self) {
        let Some(work) = self.work.get() else { return };
        loop {
            let i = self.next.fetch_add(1, Relaxed);
            if i >= self.pieces.get() {
                return;
            }
            // SAFETY: it lives until the round is closed.
            unsafe { (*work)(i) };
        }
    }
}

/// A helper's host. Signals are blocked in it, as in the keeper's, from which it is made.
///
/// # Safety
/// For [`host::spawn_with`]; `arg` is a leaked [`Shared`].
unsafe extern "C" fn main(arg: usize) -> ! {
    // SAFETY: by the caller's promise.
    let shared = unsafe { &*(arg as *const Shared) };
    let mut seen = 0;
    crate::sys::follow::begin();
    loop {
        if shared.round.join(&mut seen) {
            shared.take_part();
            shared.round.leave();
        }
    }
}
