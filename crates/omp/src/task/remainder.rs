//! How much of a taskloop's range is not done: the thread's own part, and the ranges split off from it.
//!
//! A range (range_splits.rs) is done when its own pieces are and all ranges that were split off from it. Who
//! does the last of these, whichever thread, has the range and its memory for itself, and goes on with the
//! one that it was split off from. Only the thread that executes the range splits it, and its own part counts
//! as one; so nothing is added to a range that is done. Edges: each decrement is a release, and whoever
//! brings the count to 0 acquires: it sees what all parts have done. Model: tests/loom/src/tasks.rs.

use crate::sys::sync::{AtomicU32, Ordering::*, touch};

/// See the module's text.
#[derive(Default)]
pub(crate) struct Remainder(AtomicU32);

impl Remainder {
    /// A new range, which nobody else knows yet.
    #[inline]
    pub(crate) fn begin(&self) {
        self.0.store(1, Relaxed);
    }

    /// Its thread is about to split `n` ranges off.
    #[inline]
    pub(crate) fn split(&self, n: u32) {
        touch(&self.0);
        self.0.fetch_add(n, Relaxed);
    }

    /// One part is done. True if it was the last one: then the caller alone refers to the range.
    #[inline]
    pub(crate) fn done(&self) -> bool {
        touch(&self.0);
        // Alone: nothing was split off, or all of it is done. Nobody else looks at the count any more.
        self.0.load(Acquire) == 1 || self.0.fetch_sub(1, AcqRel) == 1
    }
}
