//! Doacross loops (`ordered(n)` with depend(sink/source)).
//!
//! One counter an iteration of the outermost loop: how many of its inner iterations, in lexicographic order, have been
//! posted. All inner iterations of an outer one are executed by one thread in order, so "iteration v is posted" is
//! "counter[v0] > index of (v1, …)". Post: store (release); wait: load (acquire).

use crate::sys::own::Own;
use crate::team::team::Team;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// The state of one doacross loop.
pub struct Doacross {
    counts: Own<Option<&'static [u64]>>,
    posted: Own<Option<&'static [AtomicU64]>>,
}

impl Doacross {
    /// For a loop nest of the given counts.
    pub fn create(counts: &[u64]) -> &'static Doacross {
        let outer = counts.first().copied().unwrap_or(0);
        let posted: Box<[AtomicU64]> = (0..outer).map(|_| AtomicU64::new(0)).collect();
        Box::leak(Box::new(Doacross {
            counts: Own::new(Some(Box::leak(counts.to_vec().into_boxed_slice()))),
            posted: Own::new(Some(Box::leak(posted))),
        }))
    }

    /// Frees the memory; the construct is over and nobody holds a reference.
    pub fn retire(&'static self) {
        // SAFETY: all three were leaked boxes made by `create`, and the last user has left the construct.
        unsafe {
            drop(Box::from_raw(core::ptr::from_ref(self.counts.get().unwrap_or(&[])).cast_mut()));
            drop(Box::from_raw(core::ptr::from_ref(self.posted.get().unwrap_or(&[])).cast_mut()));
            drop(Box::from_raw(core::ptr::from_ref(self).cast_mut()));
        }
    }

    /// Number of loops in the nest.
    pub fn depth(&self) -> usize {
        self.counts.get().map_or(0, <[u64]>::len)
    }

    /// Index of the inner iteration numbers of `v` in lexicographic order.
    fn inner(&self, v: &[u64]) -> u64 {
        let counts = self.counts.get().unwrap_or(&[]);
        v.iter().zip(counts).skip(1).fold(0u64, |acc, (&i, &n)| acc.wrapping_mul(n).wrapping_add(i))
    }

    /// The counter of outer iteration `i`. Neighbours, which different threads write at the same time, are on different cache lines.
    fn counter(&self, i: u64) -> Option<&'static AtomicU64> {
        const A_LINE: usize = 8;
        let p = self.posted.get()?;
        let lines = p.len() / A_LINE;
        let at = if (i as usize) < lines * A_LINE {
            i as usize % lines * A_LINE + i as usize / lines
        } else {
            i as usize
        };
        p.get(at)
    }

    /// Iteration `v` is done as far as its dependents care.
    pub fn post(&self, team: &Team, v: &[u64]) {
        if let Some(c) = self.counter(v[0]) {
            let done = self.inner(v) + 1;
            if c.load(Relaxed) < done {
                c.store(done, Release);
                team.event.notify();
            }
        }
    }

    /// Waits until iteration `v` is posted.
    pub fn wait(&self, team: &Team, v: &[u64]) {
        if let Some(c) = self.counter(v[0]) {
            let need = self.inner(v);
            let ready = || c.load(Acquire) > need || team.is_cancelled();
            if !ready() {
                team.event.wait(team.patience.get(), ready);
            }
        }
    }
}
