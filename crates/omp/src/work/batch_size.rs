//! How many chunks a thread takes at once in a dynamic loop in which it must get them in increasing order: in
//! all but those of which promp-cc has proved that it makes no difference (`Shape::ascending`).
//!
//! What it has taken stays with it: another thread may have had later chunks, and must not get earlier ones then. So it takes at once what
//! it executes in a microsecond, by the time that its last batch took; at first one, then at most twice as many as before. Where
//! chunks are worth balancing, that is one at a time.

use super::batch;
use crate::sys::own::Own;
use crate::sys::time;

/// About a microsecond, in clock ticks.
const TICKS: u64 = 3000;

/// See the module's text. The member's own.
#[derive(Default)]
pub(crate) struct Pace {
    began: Own<u64>,
    taken: Own<u64>,
}

impl Pace {
    /// The most chunks to take now. `first`: the loop begins.
    pub(crate) fn most(&self, first: bool) -> u64 {
        let now = time::ticks();
        let (spent, n) = (now.wrapping_sub(self.began.get()), self.taken.get());
        self.began.set(now);
        if first { 1 } else { after(n, spent) }
    }

    /// So many were taken.
    pub(crate) fn took(&self, n: u64) {
        self.taken.set(n);
    }
}

/// The most chunks to take after `n` that took `spent` ticks.
fn after(n: u64, spent: u64) -> u64 {
    (n * TICKS / spent.max(1)).min(2 * n).clamp(1, batch::MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_slowly_and_shrinks_at_once() {
        assert_eq!([after(0, 10), after(1, 10), after(1, TICKS), after(1, 100 * TICKS)], [1, 2, 1, 1]);
        assert_eq!(
            [after(64, 64), after(64, TICKS), after(64, 2 * TICKS), after(64, 64 * TICKS)],
            [64, 64, 32, 1]
        );
        assert_eq!([after(40, 0), after(20, 0)], [64, 40]);
    }
}
