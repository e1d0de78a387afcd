//! Batches of short dynamic loops whose chunks may come in any order.
//!
//! The dispenser's line is what short chunks cost: each fetches it from another thread, each time. So of a
//! short loop every thread takes its share at once, in a team of many three quarters of it, and then a chunk
//! at a time. Who finds the dispenser empty takes from those that have something, so no chunk waits behind a
//! long one while a thread is free: in a team of many from those that say so (holders.rs), in a team of few,
//! where to look at that is as dear, from whoever it is.

use super::batch;
use super::dispenser::Dispenser;

/// Members of a team of few, at most.
pub(crate) const FEW: u32 = 4;
/// Chunks for each thread up to which a loop is short.
pub(crate) const SHORT: u64 = 8;

/// A short loop.
pub(crate) struct Many {
    /// Iterations.
    pub total: u64,
    /// Iterations of a chunk.
    pub chunk: u64,
    /// Members.
    pub threads: u32,
}

impl Many {
    /// Is a loop like this one taken in this way?
    #[inline(always)]
    pub(crate) fn is_short(&self) -> bool {
        // No overflow: a loop in batches leaves room for more (loops.rs).
        self.total < (SHORT + 1) * u64::from(self.threads) * self.chunk
    }
}

/// What a member remembers of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Own {
    /// How far the dispenser was when it took its last batch; 0 at first.
    pub position: u64,
    /// It has said that it has a batch. Of no meaning at first.
    pub holds: bool,
}

impl Many {
    /// How many chunks to take now; 0: there are none.
    fn size(&self, position: u64) -> u64 {
        let (left, threads) = (self.total.saturating_sub(position), u64::from(self.threads));
        if left == 0 {
            return 0;
        }
        let share = if threads > u64::from(FEW) { (3, 4 * threads) } else { (1, threads) };
        let n = if position == 0 { left / self.chunk * share.0 / share.1 } else { 1 };
        n.clamp(1, batch::MOST)
    }

    /// The next batch of a member of a team of few, whose own is empty: the number of its first chunk, how
    /// many. From the dispenser, which was at `position` when it took its last one (0 at first), or by
    /// `steal` from another member.
    #[inline(always)]
    pub(crate) fn more_of_few(
        &self,
        d: &Dispenser,
        position: &mut u64,
        steal: impl FnOnce() -> Option<(u64, u64)>,
    ) -> Option<(u64, u64)> {
        let n = self.size(*position);
        let own = if n == 0 { None } else { d.take_batch(self.total, self.chunk, n, position) };
        own.or_else(steal)
    }

    /// The same in a team of many, for member `me`.
    pub(crate) fn more(
        &self,
        d: &Dispenser,
        me: u32,
        own: &mut Own,
        steal: impl FnMut(u32) -> Option<(u64, u64)>,
    ) -> Option<(u64, u64)> {
        let (n, said) = (self.size(own.position), own.position != 0 && own.holds);
        if n > 1 && !said {
            d.holders().note(me, true);
        }
        let taken = if n == 0 { None } else { d.take_batch(self.total, self.chunk, n, &mut own.position) };
        own.holds = taken.is_some_and(|(_, n)| n > 1);
        if !own.holds && (said || n > 1) {
            d.holders().note(me, false);
        }
        if taken.is_some() {
            return taken;
        }
        let stolen = d.holders().others(me, self.threads).find_map(steal)?;
        own.holds = stolen.1 > 1;
        if own.holds {
            d.holders().note(me, true);
        }
        Some(stolen)
    }
}
