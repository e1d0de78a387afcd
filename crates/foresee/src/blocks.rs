//! Sets of bytes that loops write and read: blocks, of elements at the sums of strides times counters.

/// So many loops may be around an access.
pub(crate) const DIMS: usize = 10;
/// Addresses, strides and lengths are less than that.
const MOST: i64 = 1 << 61;
/// So many blocks are kept of a set.
const BLOCKS: usize = 512;

/// `bytes` at `start` plus the sum of stride times each number less than count, over all levels. Strides are
/// positive and grow, counts are two at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    pub start: i64,
    pub bytes: i64,
    levels: [(i64, i64); DIMS],
    count: usize,
}

/// Sums and products that stay in bounds.
fn plus(a: i64, b: i64) -> Option<i64> {
    a.checked_add(b).filter(|s| s.unsigned_abs() < MOST as u64)
}
fn times(a: i64, b: i64) -> Option<i64> {
    a.checked_mul(b).filter(|s| s.unsigned_abs() < MOST as u64)
}

impl Block {
    /// `loops`: strides and counts, in any order, of any sign. `None`: it is none, or out of bounds.
    pub(crate) fn new(start: i64, bytes: i64, loops: &[(i64, i64)]) -> Option<Self> {
        let mut b = Self { start, bytes, levels: [(0, 0); DIMS], count: 0 };
        if bytes <= 0 || start.unsigned_abs() >= MOST as u64 {
            return None;
        }
        for &(stride, count) in loops {
            if count < 1 {
                return None;
            }
            if stride == 0 || count == 1 {
                continue;
            }
            let far = times(stride, count - 1)?;
            b.start = plus(b.start, far.min(0))?;
            *b.levels.get_mut(b.count)? = (stride.checked_abs()?, count);
            b.count += 1;
        }
        b.levels[..b.count].sort_unstable();
        b.end()?;
        b.fold();
        Some(b)
    }

    fn levels(&self) -> &[(i64, i64)] {
        &self.levels[..self.count]
    }

    /// Without levels that leave no gaps.
    fn fold(&mut self) {
        while self.count > 0 && self.levels[0].0 <= self.bytes {
            let (stride, count) = self.levels[0];
            self.bytes += stride * (count - 1);
            self.remove(0);
        }
    }

    fn remove(&mut self, level: usize) {
        self.levels.copy_within(level + 1..self.count, level);
        self.count -= 1;
        self.levels[self.count] = (0, 0);
    }

    /// Behind its last byte.
    fn end(&self) -> Option<i64> {
        let far = self.levels().iter().try_fold(0, |sum, l| plus(sum, times(l.0, l.1 - 1)?))?;
        plus(plus(self.start, far)?, self.bytes)
    }

    /// [first byte, behind the last one).
    #[cfg(test)]
    fn hull(&self) -> (i64, i64) {
        (self.start, self.end().unwrap_or(MOST))
    }

    /// Tells of each piece without gaps, if there are no more than `most`, of `least` bytes.
    pub(crate) fn pieces(&self, least: i64, most: i64, mut piece: impl FnMut(i64, i64)) {
        let all = self.levels().iter().try_fold(1, |n, l| times(n, l.1)).filter(|&n| n <= most);
        if self.bytes < least {
            return;
        }
        for k in 0..all.unwrap_or(0) {
            let (mut start, mut rest) = (self.start, k);
            for &(stride, count) in self.levels() {
                start += stride * (rest % count);
                rest /= count;
            }
            piece(start, start + self.bytes);
        }
    }

    /// Is all of `r` in it? (No: perhaps.)
    pub(crate) fn contains(&self, r: &Block) -> bool {
        let mut off = r.start - self.start;
        if off < 0 {
            return false;
        }
        let mut rest: Vec<(i64, i64)> = r.levels().to_vec();
        for &(stride, count) in self.levels().iter().rev() {
            let mut last = off / stride;
            off %= stride;
            // Those of its loops that go along this level.
            rest.retain(|&(s, c)| {
                let along = s % stride == 0;
                if along {
                    last += s / stride * (c - 1);
                }
                !along
            });
            if last >= count {
                return false;
            }
        }
        // The rest is within an element.
        let far: i64 = rest.iter().map(|&(s, c)| s * (c - 1)).sum();
        off + far + r.bytes <= self.bytes
    }

    /// Both as one block, if that is one.
    pub(crate) fn join(&self, o: &Block) -> Option<Block> {
        if self.contains(o) {
            return Some(*self);
        }
        if o.contains(self) {
            return Some(*o);
        }
        let (a, b) = if self.start <= o.start { (self, o) } else { (o, self) };
        let apart = b.start - a.start;
        if a.levels() == b.levels() && apart <= a.bytes {
            let mut both = Block { bytes: a.bytes.max(apart + b.bytes), ..*a };
            both.fold();
            return Some(both);
        }
        // One goes on where the other ends, along a level that one of them has at least.
        if a.bytes != b.bytes {
            return None;
        }
        let longer = if a.count >= b.count { a } else { b };
        for k in 0..longer.count {
            let stride = longer.levels[k].0;
            let along = |x: &Block| {
                let at = x.levels().iter().position(|l| l.0 == stride);
                let mut rest = *x;
                let n = at.map_or(1, |at| x.levels[at].1);
                if let Some(at) = at {
                    rest.remove(at);
                }
                (rest, n)
            };
            let ((rest_a, n), (rest_b, m)) = (along(a), along(b));
            let steps = apart / stride;
            if apart % stride == 0 && rest_a.levels() == rest_b.levels() && steps <= n {
                let mut all: Vec<(i64, i64)> = rest_a.levels().to_vec();
                all.push((stride, n.max(steps + m)));
                return Block::new(a.start, a.bytes, &all);
            }
        }
        None
    }
}

/// Blocks, as few as one can make of them.
#[derive(Clone, Default)]
pub(crate) struct Set(Vec<Block>);

impl Set {
    /// More is in it. What there is no room for is not.
    pub(crate) fn add(&mut self, b: Block) {
        let mut b = b;
        while let Some((k, both)) = self.0.iter().enumerate().find_map(|(k, o)| Some((k, o.join(&b)?))) {
            self.0.swap_remove(k);
            b = both;
        }
        if self.0.len() < BLOCKS {
            self.0.push(b);
        }
    }

    /// All of `other`, which is empty then.
    pub(crate) fn take(&mut self, other: &mut Set) {
        core::mem::take(&mut other.0).into_iter().for_each(|b| self.add(b));
    }

    pub(crate) fn contains(&self, r: &Block) -> bool {
        self.0.iter().any(|b| b.contains(r))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn bytes(start: i64, size: i64, loops: &[(i64, i64)]) -> BTreeSet<i64> {
        let mut all = BTreeSet::from([start]);
        for &(stride, count) in loops {
            all = all.iter().flat_map(|a| (0..count).map(move |k| a + stride * k)).collect();
        }
        all.iter().flat_map(|a| *a..a + size).collect()
    }

    fn of(b: &Block) -> BTreeSet<i64> {
        bytes(b.start, b.bytes, b.levels())
    }

    /// Numbers by chance.
    fn next(state: &mut u64) -> i64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as i64
    }

    fn any(state: &mut u64) -> (Block, BTreeSet<i64>) {
        loop {
            let mut n = |most: i64| next(state) % most;
            let (start, size) = (100 + n(40), [1, 2, 4, 8][n(4) as usize]);
            let strides = [-9, -4, -1, 0, 1, 2, 3, 4, 6, 8, 12, 16, 24];
            let loops: Vec<_> = (0..n(4)).map(|_| (strides[n(13) as usize], 1 + n(5))).collect();
            if let Some(b) = Block::new(start, size, &loops) {
                let all = bytes(start, size, &loops);
                assert_eq!(of(&b), all, "{loops:?}");
                assert_eq!(b.hull(), (*all.first().unwrap(), all.last().unwrap() + 1));
                return (b, all);
            }
        }
    }

    #[test]
    fn what_is_said_of_blocks_is_so_of_their_bytes() {
        let (mut state, mut inside, mut joined) = (7, 0, 0);
        for _ in 0..200_000 {
            let ((a, x), (b, y)) = (any(&mut state), any(&mut state));
            if a.contains(&b) {
                assert!(x.is_superset(&y), "{a:?} {b:?}");
                inside += 1;
            }
            if let Some(c) = a.join(&b) {
                assert_eq!(of(&c), &x | &y, "{a:?} {b:?} {c:?}");
                joined += 1;
            }
        }
        assert!(inside > 1000 && joined > 1000, "{inside} {joined}");
    }

    #[test]
    fn sets_have_no_more_than_was_added() {
        let mut state = 3;
        for _ in 0..2000 {
            let (mut set, mut all) = (Set::default(), BTreeSet::new());
            for _ in 0..8 {
                let (b, x) = any(&mut state);
                set.add(b);
                all.extend(x);
            }
            assert_eq!(set.iter().flat_map(of).collect::<BTreeSet<_>>(), all);
        }
    }

    /// The interior of a grid, then its six faces as MG's `wrap` writes them.
    #[test]
    fn a_grid_and_its_halo_have_no_gaps() {
        let n = 6;
        let (row, plane) = (8 * (n + 2), 8 * (n + 2) * (n + 2));
        let at = |i: i64, j: i64, k: i64| 1 << 20 | (k * plane + j * row + i * 8);
        let mut set = Set::default();
        let faces = [
            (at(1, 1, 1), vec![(plane, n), (row, n), (8, n)]),
            (at(0, 1, 1), vec![(plane, n), (row, n)]),
            (at(n + 1, 1, 1), vec![(plane, n), (row, n)]),
            (at(0, 0, 1), vec![(plane, n), (8, n + 2)]),
            (at(0, n + 1, 1), vec![(plane, n), (8, n + 2)]),
            (at(0, 0, 0), vec![(row, n + 2), (8, n + 2)]),
            (at(0, 0, n + 1), vec![(row, n + 2), (8, n + 2)]),
        ];
        for (k, (start, loops)) in faces.iter().enumerate() {
            set.add(Block::new(*start, 8, loops).unwrap());
            let whole = Block::new(at(0, 0, 0), plane * (n + 2), &[]).unwrap();
            assert_eq!(set.contains(&whole), k == 6, "{k}");
        }
        assert_eq!(set.iter().count(), 1);
    }

    #[test]
    fn what_is_out_of_bounds_is_none() {
        for (start, size, loops) in [
            (0, 0, vec![]),
            (i64::MAX, 8, vec![]),
            (0, 8, vec![(8, 0)]),
            (0, 8, vec![(8, -3)]),
            (0, 8, vec![(1 << 40, 1 << 40)]),
            (0, 8, vec![(i64::MIN, 2)]),
        ] {
            assert_eq!(Block::new(start, size, &loops), None, "{start} {size} {loops:?}");
        }
    }
}
