//! The shape of a worksharing construct: what its chunks are, and how they are handed out.

use super::dispenser::Range;
use crate::icv::Sched;
use crate::observe::event::Work;

/// What a construct is, fixed before it becomes ready. [`Own`] fields are written by the member that
/// makes it.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Schedule; `Auto`: the tuner hands chunks out.
    pub(crate) sched: Sched,
    /// Number of iterations.
    pub total: u64,
    /// Chunk size; 0 with static: one block a thread.
    pub(crate) chunk: u64,
    /// First value of the loop variable.
    pub(crate) start: u64,
    /// End value.
    pub(crate) end: u64,
    /// Increment (two's complement).
    pub(crate) step: u64,
    /// Has an ordered clause.
    pub ordered: bool,
    /// A thread's chunks must come in increasing order: orphans stay with their owner.
    pub monotonic: bool,
    /// They come in increasing order as long as nobody fails. Under libgomp they do in every dynamic loop,
    /// and programs count on that: only where it is proved that it makes no difference they may come in any
    /// order.
    pub ascending: bool,
    /// `total + threads * chunk` could wrap.
    pub(crate) wide: bool,
    /// Chunks are taken in batches: dynamic, and nobody waits for the iterations before.
    pub(crate) quick: bool,
    /// They are taken from the dispenser one at a time, whoever is free; nobody cancels the loop.
    pub(crate) singly: bool,
    /// Is known to end in a barrier, or what follows is the region's end.
    pub(crate) ends_in_barrier: bool,
    /// Call site, for what is learned about it.
    pub(crate) site: usize,
    /// What kind of construct it is.
    pub work: Work,
    /// `promp_recompute`'s word for it, 0 if none was given.
    pub recompute: u8,
    /// Fragments that a static chunk is handed out in.
    pub(crate) fragments: u64,
    /// When it began, if anybody may want to know (ns).
    pub(crate) began: u64,
    /// The tuner measures it: the number of its entry (tune/site_table.rs), and 1.
    pub(crate) tune: u16,
    /// With `Sched::Auto`: how the tuner hands chunks out.
    pub(crate) deal: u8,
}

impl Shape {
    /// The loop variable's value in iteration `i`.
    #[inline(always)]
    pub fn value(&self, i: u64) -> u64 {
        self.start.wrapping_add(i.wrapping_mul(self.step))
    }

    /// The loop variable's values for `r`: [first, end).
    #[inline(always)]
    pub(crate) fn values(&self, r: Range) -> (u64, u64) {
        (self.value(r.lo), if self.is_last(r) { self.end } else { self.value(r.hi) })
    }

    /// Does `r` have the last iteration?
    #[inline(always)]
    pub(crate) fn is_last(&self, r: Range) -> bool {
        r.hi == self.total
    }

    /// The iterations of chunk `number`.
    #[inline(always)]
    pub(crate) fn range(&self, number: u64) -> Range {
        let lo = number * self.chunk;
        Range { lo, hi: (lo + self.chunk).min(self.total) }
    }

    /// A construct without iterations (single, scope).
    pub(crate) const NONE: Shape = Shape {
        sched: Sched::Static,
        total: 0,
        chunk: 0,
        start: 0,
        end: 0,
        step: 1,
        ordered: false,
        monotonic: true,
        ascending: true,
        wide: false,
        quick: false,
        singly: false,
        ends_in_barrier: false,
        site: 0,
        work: Work::Scope,
        recompute: 0,
        fragments: 1,
        began: 0,
        tune: 0,
        deal: 0,
    };
}
