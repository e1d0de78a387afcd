//! A deque of tasks: its owner pushes and pops at the bottom, thieves take from the top.
//!
//! The algorithm is that of Chase and Lev (SPAA 2005) with the orderings of Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013),
//! for a fixed number of places. `top` only grows. Entry `t` leaves by a compare-and-swap of `top` from `t` to `t + 1`, or by the
//! owner alone while `top < t`; the owner announces itself (`bottom`) before it looks at `top`, a thief looks at `bottom`
//! after `top`, each with a full fence between: not both can take the same entry. Edges: every store of
//! `bottom` is a release (also those in `pop`: a thief may read one of them), to the acquire load in `steal`: it carries the tasks.
//! Model: tests/loom/src/tasks.rs.

use crate::sys::sync::{AtomicU64, Ordering::*, full_fence, touch};
use crossbeam_utils::CachePadded;

/// A deque of up to `N` words, a power of two.
pub(crate) struct Deque<const N: usize> {
    top: CachePadded<AtomicU64>,
    bottom: AtomicU64,
    /// The owner's: `top` as it was seen last.
    seen: AtomicU64,
    slots: [AtomicU64; N],
}

impl<const N: usize> Deque<N> {
    /// Where `top` and `bottom` lie, for entry/light.rs.
    pub(crate) const OFFSETS: (usize, usize) =
        (core::mem::offset_of!(Deque<N>, top), core::mem::offset_of!(Deque<N>, bottom));
}

impl<const N: usize> Default for Deque<N> {
    fn default() -> Self {
        const { assert!(N.is_power_of_two()) };
        Self {
            top: CachePadded::new(AtomicU64::new(0)),
            bottom: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            slots: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl<const N: usize> Deque<N> {
    fn slot(&self, i: u64) -> &AtomicU64 {
        &self.slots[i as usize & (N - 1)]
    }

    /// Owner: where the next entry goes. What is pushed from here on lies at or above this floor.
    #[inline]
    pub(crate) fn floor(&self) -> u64 {
        self.bottom.load(Relaxed)
    }

    /// Owner: are there `limit` (at most `N`) entries or more?
    #[inline]
    pub(crate) fn holds(&self, limit: u64) -> bool {
        let b = self.bottom.load(Relaxed);
        if b - self.seen.load(Relaxed) < limit {
            return false;
        }
        let t = self.top.load(Acquire);
        self.seen.store(t, Relaxed);
        b - t >= limit
    }

    /// Owner: is there an entry at or above `floor`?
    pub(crate) fn has(&self, floor: u64) -> bool {
        let b = self.bottom.load(Relaxed);
        b > floor && self.top.load(Relaxed) < b
    }

    /// Owner: adds an entry; false if there is no room.
    #[inline]
    pub(crate) fn push(&self, x: u64) -> bool {
        if self.holds(N as u64) {
            return false;
        }
        let b = self.bottom.load(Relaxed);
        touch(&self.bottom);
        touch(self.slot(b));
        self.slot(b).store(x, Relaxed);
        self.bottom.store(b + 1, Release);
        true
    }

    /// Owner: takes the newest entry at or above `floor`.
    #[inline]
    pub(crate) fn pop(&self, floor: u64) -> Option<u64> {
        let b = self.bottom.load(Relaxed);
        touch(&self.bottom);
        touch(&self.top);
        if b <= floor || self.top.load(Relaxed) >= b {
            return None;
        }
        let b = b - 1;
        self.bottom.store(b, Release);
        full_fence();
        let t = self.top.load(Relaxed);
        if t < b {
            return Some(self.slot(b).load(Relaxed));
        }
        // The last one: thieves may want it too.
        let won = t == b && self.top.compare_exchange(t, t + 1, SeqCst, Relaxed).is_ok();
        self.bottom.store(b + 1, Release);
        won.then(|| self.slot(b).load(Relaxed))
    }

    /// Anybody: takes the oldest entry if it is `wanted`. `wanted` may be asked about an entry that is taken meanwhile; its
    /// answer then counts for nothing.
    #[inline]
    pub(crate) fn steal(&self, wanted: impl Fn(u64) -> bool) -> Option<u64> {
        let t = self.top.load(Acquire);
        touch(&self.top);
        touch(&self.bottom);
        // Mostly there is nothing, which needs no fence.
        if t >= self.bottom.load(Relaxed) {
            return None;
        }
        full_fence();
        if t >= self.bottom.load(Acquire) {
            return None;
        }
        let x = self.slot(t).load(Relaxed);
        touch(self.slot(t));
        (wanted(x) && self.top.compare_exchange(t, t + 1, SeqCst, Relaxed).is_ok()).then_some(x)
    }

    /// Anybody: would [`Deque::steal`] find something? A hint.
    #[inline]
    pub(crate) fn offers(&self, wanted: impl Fn(u64) -> bool) -> bool {
        let t = self.top.load(Relaxed);
        t < self.bottom.load(Acquire) && wanted(self.slot(t).load(Relaxed))
    }
}
