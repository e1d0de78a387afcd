//! Free slots in the file of pages.
//!
//! What changes here and there leaves slots here and there free. Pages that are written to those are written one by one, by way of the system's cache,
//! and the disk writes them one by one, too. So long holes are taken, and what is behind everything, as long as the file does not become longer than two
//! whole generations that have nothing in common would make it. Then any hole will do.

use core::ops::Range;

/// Slots of a long hole.
const LONG: usize = 64;
/// A file of so many may be twice as long, however little it holds.
const SMALL: usize = 1024;

/// Those that the generations which are kept do not refer to, and that have not been taken since.
#[derive(Debug, Default)]
pub struct Free {
    used: Vec<bool>,
    /// What is taken from next.
    hole: Range<usize>,
    /// How long the file may become for the sake of long holes.
    most: usize,
    /// Are short holes taken, too?
    any: bool,
}

impl Free {
    /// All but the slots `used`.
    pub fn but(used: impl Iterator<Item = Range<usize>>) -> Self {
        let mut free = Self::default();
        used.for_each(|slots| free.mark(slots));
        free.most = 2 * free.used().max(SMALL);
        free
    }

    fn mark(&mut self, slots: Range<usize>) {
        self.used.resize(self.used.len().max(slots.end), false);
        self.used[slots].fill(true);
    }

    /// Takes slots that follow each other, `want` of them at most: the first one, and how many.
    pub fn take(&mut self, want: usize) -> (usize, usize) {
        while self.hole.is_empty() {
            self.find();
        }
        let first = self.hole.start;
        let n = want.min(self.hole.len());
        self.hole.start += n;
        self.mark(first..first + n);
        (first, n)
    }

    /// How many are not.
    pub fn used(&self) -> usize {
        self.used.iter().filter(|&&u| u).count()
    }

    /// The next hole.
    fn find(&mut self) {
        let used = |from: usize, used: bool| {
            self.used[from..].iter().position(|&u| u == used).map_or(self.used.len(), |n| from + n)
        };
        let mut at = self.hole.end.min(self.used.len());
        while at < self.used.len() {
            let start = used(at, false);
            at = used(start, true);
            if at < self.used.len() && (self.any || at - start >= LONG) {
                self.hole = start..at;
                return;
            }
        }
        // Behind everything. Slots at the end that are free belong to it.
        let end = self.used.iter().rposition(|&u| u).map_or(0, |last| last + 1);
        match self.any {
            true => self.hole = end..usize::MAX,
            false if end < self.most => self.hole = end..self.most,
            false => (self.any, self.hole) = (true, 0..0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First slots, and those behind the last ones.
    fn take(free: &mut Free, want: usize) -> Vec<(usize, usize)> {
        let (mut got, mut left) = (Vec::new(), want);
        while left > 0 {
            let (first, n) = free.take(left);
            assert!(0 < n && n <= left);
            got.push((first, first + n));
            left -= n;
        }
        got
    }

    #[test]
    fn long_holes_come_first() {
        // Free: 10 to 20, 100 to 200, 5000 to 5001, from 9000 on.
        let used = [0..10, 20..100, 200..5000, 300..400, 5001..9000];
        let most = 2 * (10 + 80 + 4800 + 3999);
        let mut free = Free::but(used.into_iter());
        assert_eq!(take(&mut free, 30), [(100, 130)]);
        assert_eq!(take(&mut free, 80), [(130, 200), (9000, 9010)]);
        // As long as it may be; then what is left.
        assert_eq!(take(&mut free, most - 9010), [(9010, most)]);
        assert_eq!(take(&mut free, 13), [(10, 20), (5000, 5001), (most, most + 2)]);
        assert_eq!(take(&mut free, 1 << 20), [(most + 2, most + 2 + (1 << 20))]);
    }

    #[test]
    fn a_file_begins_at_its_beginning() {
        let mut free = Free::but(core::iter::empty());
        assert_eq!(take(&mut free, 5000), [(0, 2 * SMALL), (2 * SMALL, 5000)]);
    }

    proptest::proptest! {
        #[test]
        fn no_slot_is_taken_twice(slots in proptest::collection::vec(0usize..4000, 0..3000), wants in proptest::collection::vec(1usize..500, 1..60)) {
            let mut free = Free::but(slots.iter().map(|&slot| slot..slot + 1));
            let mut taken: std::collections::HashSet<usize> = slots.iter().copied().collect();
            for want in wants {
                for slot in take(&mut free, want).into_iter().flat_map(|(a, b)| a..b) {
                    proptest::prop_assert!(taken.insert(slot), "{slot}");
                }
            }
        }
    }
}
