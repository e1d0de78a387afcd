//! The team barrier: a central counter and a generation.
//!
//! States: generation g with r members still to come. A member arrives by `fetch_sub` (release: what it wrote before the
//! barrier; acquire for the last one: what all wrote). The last one sets the counter for the next round and then stores
//! generation g + 1 (release); waiters load the generation (acquire). A member cannot arrive in round g + 1 before it has
//! seen that store, so the counter is never touched by two rounds at once.
//!
//! **Failing members.** Arrival belongs to the logical thread: a host that fails before its logical thread has
//! arrived is replaced, and the new host arrives; one that fails afterwards does so in the runtime, where the stop waits
//! until the barrier is passed. So every generation ends after exactly n arrivals, whoever hosts them.
//! Model: tests/loom/barrier.rs.

use crate::sys::sync::{AtomicU32, Ordering::*};
use crossbeam_utils::CachePadded;

/// See the module's text.
#[derive(Default)]
pub struct Barrier {
    remaining: CachePadded<AtomicU32>,
    generation: CachePadded<AtomicU32>,
}

impl Barrier {
    /// Prepares for rounds of `n` members. No member may be inside.
    pub fn reset(&self, n: u32) {
        self.remaining.store(n, Relaxed);
    }

    /// The current generation; read it before [`Barrier::arrive`].
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    /// Arrives. True for the last of the round, who then calls [`Barrier::release`].
    #[inline]
    pub fn arrive(&self) -> bool {
        self.remaining.fetch_sub(1, AcqRel) == 1
    }

    /// Ends the round: the last arriver lets the others go.
    #[inline]
    pub fn release(&self, n: u32) {
        self.remaining.store(n, Relaxed);
        self.generation.fetch_add(1, Release);
    }

    /// Has the round that began with generation `seen` ended?
    #[inline]
    pub fn passed(&self, seen: u32) -> bool {
        self.generation.load(Acquire) != seen
    }
}
