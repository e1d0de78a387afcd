//! Ranges of addresses of which none overlaps another, in their order: a sorted list in pieces, each short
//! enough that an insertion moves little. A construct looks for each of its variables here, so that has to
//! take a few dozen instructions.

/// So many ranges a piece has at most.
const MOST: usize = 64;

/// First address, the one behind the last, what stands for it.
type Range<T> = (usize, usize, T);

/// Where a range belongs, while nothing else is entered or taken out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot(usize, usize);

/// See the module's text. No piece is empty but for a single one.
pub(crate) struct Order<T> {
    pieces: Vec<Vec<Range<T>>>,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T: Copy> Order<T> {
    /// Where the first range is that ends behind `address`: the number of its piece, and that in it.
    #[inline]
    fn place(&self, address: usize) -> (usize, usize) {
        let before = |r: &Range<T>| r.1 <= address;
        let p = match &self.pieces[..] {
            [_] => 0,
            pieces => pieces.partition_point(|piece| piece.last().is_some_and(before)),
        };
        (p, self.pieces.get(p).map_or(0, |piece| piece.partition_point(before)))
    }

    /// The first range that overlaps `[start, end)`.
    #[inline]
    pub(crate) fn overlapping(&self, start: usize, end: usize) -> Option<T> {
        let (p, i) = self.place(start);
        let &(first, _, value) = self.pieces.get(p)?.get(i)?;
        (first < end).then_some(value)
    }

    /// The first range that overlaps `[start, end)`, or where that belongs.
    #[inline]
    pub(crate) fn look(&self, start: usize, end: usize) -> Result<T, Spot> {
        let (p, i) = self.place(start);
        match self.pieces.get(p).and_then(|piece| piece.get(i)) {
            Some(&(first, _, value)) if first < end => Ok(value),
            _ => Err(Spot(p, i)),
        }
    }

    /// Enters a range, which is not empty, where [`Order::look`] has found that it belongs.
    #[inline]
    pub(crate) fn insert(&mut self, Spot(mut p, mut i): Spot, start: usize, end: usize, value: T) {
        if self.pieces.get(p).is_none_or(|piece| piece.len() == MOST) {
            (p, i) = self.room(p, i);
        }
        self.pieces[p].insert(i, (start, end, value));
    }

    /// Makes room for a range at this place, which is elsewhere then.
    #[cold]
    fn room(&mut self, p: usize, i: usize) -> (usize, usize) {
        // Behind all others: the last piece grows, or there is a new one.
        if p == self.pieces.len() || (p + 1 == self.pieces.len() && i == MOST) {
            if self.pieces.last().is_none_or(|last| last.len() == MOST) {
                self.pieces.push(Vec::with_capacity(MOST));
            }
            let p = self.pieces.len() - 1;
            return (p, self.pieces[p].len());
        }
        let mut rest = Vec::with_capacity(MOST);
        rest.extend(self.pieces[p].drain(MOST / 2..));
        self.pieces.insert(p + 1, rest);
        if i > MOST / 2 { (p + 1, i - MOST / 2) } else { (p, i) }
    }

    /// Takes out the range that begins at `start`.
    #[inline]
    pub(crate) fn remove(&mut self, start: usize) -> Option<T> {
        let (p, i) = self.place(start);
        let piece = self.pieces.get_mut(p)?;
        piece.get(i).filter(|r| r.0 == start)?;
        let (_, _, value) = piece.remove(i);
        if piece.is_empty() && self.pieces.len() > 1 {
            self.pieces.remove(p);
        }
        Some(value)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        self.pieces.iter().flatten().map(|r| r.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list; enough ranges for several pieces.
        #[test]
        fn as_a_list(steps in prop::collection::vec((0usize..3, 0usize..400, 1usize..9), 1..1500)) {
            let (mut order, mut list) = (Order::default(), Vec::<Range<usize>>::new());
            for (number, (what, at, n)) in steps.into_iter().enumerate() {
                let (start, end) = (10 * at, 10 * at + 3 * n);
                let there = list.iter().filter(|r| r.0 < end && start < r.1).min().copied();
                prop_assert_eq!(order.overlapping(start, end), there.map(|r| r.2));
                match there {
                    None if what > 0 => {
                        order.insert(order.look(start, end).expect_err("free"), start, end, number);
                        list.push((start, end, number));
                    }
                    Some(r) if what == 0 => {
                        prop_assert_eq!(order.remove(r.0), Some(r.2));
                        list.retain(|l| *l != r);
                    }
                    _ => prop_assert_eq!(order.remove(start + 1), None),
                }
            }
            list.sort();
            prop_assert_eq!(order.iter().collect::<Vec<_>>(), list.iter().map(|r| r.2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pieces_are_full_where_ranges_come_in_order() {
        let mut order = Order::default();
        (0..10 * MOST).for_each(|i| order.insert(order.look(i, i + 1).expect_err("free"), i, i + 1, i));
        assert_eq!(order.pieces.len(), 10);
        (0..10 * MOST).for_each(|i| assert_eq!(order.remove(i), Some(i)));
        assert_eq!((order.pieces.len(), order.overlapping(0, usize::MAX)), (1, None));
    }
}
