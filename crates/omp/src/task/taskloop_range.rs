//! What a task is that stands for a range of a taskloop's pieces (range_splits.rs).

use super::Task;
use super::division::Deal;
use super::remainder::Remainder;
use crate::sys::own::Own;

/// What the pieces of a taskloop are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Plan {
    /// How many, of how many iterations.
    pub deal: Deal,
    /// The loop's first value, and its step.
    pub start: u64,
    /// See `start`.
    pub step: u64,
    /// The body.
    pub(super) func: usize,
    /// Alignment of its block.
    pub(super) align: usize,
    /// May short pieces be executed as calls?
    pub(super) many: bool,
}

impl Plan {
    /// The bounds of piece `i`.
    pub(super) fn bounds(&self, i: u64) -> (u64, u64) {
        let at = |i| self.start.wrapping_add(self.deal.before(i).wrapping_mul(self.step));
        (at(i), at(i + 1))
    }
}

/// What a task that is a range is besides. Written by who makes it, and by who executes it.
#[derive(Default)]
pub(crate) struct Range {
    /// Its pieces: the first one, and behind the last one.
    pub(super) pieces: Own<(u64, u64)>,
    /// Have pieces been found long?
    pub(super) long: Own<bool>,
    /// The first range, which has the plan, if it is another one.
    pub(super) root: Own<Option<&'static Task>>,
    /// The range that it was split off from.
    pub(super) origin: Own<Option<&'static Task>>,
    /// What is not done of it.
    pub(super) left: Remainder,
    /// The first range's.
    pub(super) plan: Own<Plan>,
}

/// What [`Task::call`] is in a range.
const CALL: (usize, usize) = (0, 1);

/// Is it a range, to be executed by halves (range_splits.rs)?
pub(crate) fn is_range(t: &Task) -> bool {
    t.call.get() == CALL
}

impl Range {
    pub(super) fn begin(
        &self,
        t: &Task,
        pieces: (u64, u64),
        long: bool,
        (root, origin): (Option<&'static Task>, Option<&'static Task>),
    ) {
        t.call.set(CALL);
        self.pieces.set(pieces);
        self.long.set(long);
        self.root.set(root);
        self.origin.set(origin);
        self.left.begin();
    }
}
