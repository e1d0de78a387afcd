//! The team barrier: a central counter and a generation; for two members an exchange of notes.
//!
//! States: generation g with r members still to come. A member arrives by `fetch_sub` (release: what it wrote before the
//! barrier; acquire for the last one: what all wrote). The last one sets the counter for the next round and then stores
//! generation g + 1 (release); waiters load the generation (acquire). A member cannot arrive in round g + 1 before it has
//! seen that store, so the counter is never touched by two rounds at once.
//!
//! **Two members** tell each other: each stores the number of its round in its own line (release: what it wrote before the barrier) and
//! waits until the other's is not lower (acquire). The lines travel at the same time. Rounds are counted for as long as the team
//! lives, so nothing is reset; only where one member may have left out a barrier (cancellation) both begin anew, while neither is
//! inside. With its note a member says whether the team has had tasks: if either says so, both go on to the counter, whose last
//! arriver waits for the tasks. They cannot disagree: a member whose note is one round ahead has passed, so neither note had said so.
//!
//! **Failing members.** Arrival belongs to the logical thread: a host that fails before its logical thread has
//! arrived is replaced, and the new host arrives; one that fails afterwards does so in the runtime, where the stop waits
//! until the barrier is passed. So every generation ends after exactly n arrivals, whoever hosts them.
//! Model: tests/loom/barrier.rs.

use crate::sys::sync::{AtomicU32, AtomicU64, Ordering::*};
use crossbeam_utils::CachePadded;

/// See the module's text.
#[derive(Default)]
pub struct Barrier {
    remaining: CachePadded<AtomicU32>,
    generation: CachePadded<AtomicU32>,
    notes: [CachePadded<AtomicU64>; 2],
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

    /// Member `me` of two has come to its barrier number `round`; `busy`: the team has had tasks.
    #[inline]
    pub fn tell(&self, me: usize, round: u64, busy: bool) {
        self.notes[me].store(round << 1 | u64::from(busy), Release);
    }

    /// Has the other member come to barrier number `round`?
    #[inline]
    pub fn is_met(&self, me: usize, round: u64) -> bool {
        self.notes[1 - me].load(Acquire) >> 1 >= round
    }

    /// Both have come to barrier number `round`; `busy` as `me` has told. Do they go on to the counter?
    #[inline]
    pub fn goes_on(&self, me: usize, round: u64, busy: bool) -> bool {
        let theirs = self.notes[1 - me].load(Relaxed);
        theirs >> 1 == round && (busy || theirs & 1 != 0)
    }

    /// Both members' rounds begin at 0 again. No member may be inside.
    pub fn forget(&self) {
        self.notes.iter().for_each(|n| n.store(0, Relaxed));
    }
}
