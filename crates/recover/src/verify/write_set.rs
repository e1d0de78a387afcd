//! What a watched chunk writes: the elements that its code says (`promp_wrote`, added by promp-cc
//! -fpromp-sdc), and a hash of what is in them.
//!
//! Only the logical thread writes the list. A stop in the middle gives the check up.

use crate::sys::own::Own;
use crate::undo::Grid;

/// Grids; more cannot be kept, and the chunk is not verified.
const MOST: usize = 4096;

/// See the module's text.
pub(crate) struct Written {
    list: Own<&'static [Own<Grid>]>,
    used: Own<usize>,
    lost: Own<bool>,
}

const NONE: Grid = Grid { start: 0, size: 0, count: [0, 0], stride: [0, 0] };

impl Default for Written {
    fn default() -> Self {
        Self::new()
    }
}

impl Written {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        let list = Vec::leak((0..MOST).map(|_| Own::new(NONE)).collect());
        Self { list: Own::new(list), used: Own::new(0), lost: Own::new(false) }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.used.set(0);
        self.lost.set(false);
    }

    /// Is there anything that could not be kept?
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// Notes the elements of `g`.
    pub(crate) fn note(&self, g: Grid) {
        let (list, used) = (self.list.get(), self.used.get());
        let single = |g: &Grid| g.count == [1, 1];
        if g.count.contains(&0) || g.size == 0 {
            return;
        }
        if g.size.checked_mul(g.count[0]).and_then(|n| n.checked_mul(g.count[1])).is_none_or(|n| n > LIMIT) {
            self.lost.set(true);
            return;
        }
        // Element by element, in order: one block.
        if let Some(last) = used.checked_sub(1).map(|i| &list[i])
            && single(&g)
            && single(&last.get())
            && last.get().start + last.get().size == g.start
        {
            let l = last.get();
            last.set(Grid { size: l.size + g.size, ..l });
            return;
        }
        match list.get(used) {
            Some(free) => {
                free.set(g);
                self.used.set(used + 1);
            }
            None => self.lost.set(true),
        }
    }

    /// Calls `f(address, bytes)` for each piece.
    pub(crate) fn pieces(&self, mut f: impl FnMut(usize, usize)) {
        self.list.get()[..self.used.get()].iter().for_each(|g| g.get().pieces(&mut f));
    }

    /// Of all that is in them.
    pub(crate) fn hash(&self) -> u64 {
        let mut h = Hash::of_nothing();
        // SAFETY: the chunk has written these elements, and nobody else does.
        self.pieces(|at, n| unsafe { h.add(at, n) });
        h.value()
    }
}

/// What is not an extent: promp-cc's sign that it is not known.
const LIMIT: usize = 1 << 46;

/// A hash in which every single difference shows: each step is one to one in the word and in the state.
pub(crate) struct Hash(u64);

impl Hash {
    /// Of nothing.
    pub(crate) fn of_nothing() -> Self {
        Self(0x5052_4f4d_505f_5344)
    }

    fn step(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// Adds `n` bytes.
    ///
    /// # Safety
    /// They are readable.
    pub(crate) unsafe fn add(&mut self, at: usize, n: usize) {
        let words = n / 8;
        for i in 0..words {
            // SAFETY: by the caller's promise.
            self.step(unsafe { ((at + 8 * i) as *const u64).read_unaligned() });
        }
        let mut rest = 0;
        for i in 8 * words..n {
            // SAFETY: by the caller's promise.
            rest = rest << 8 | u64::from(unsafe { ((at + i) as *const u8).read() });
        }
        if !n.is_multiple_of(8) {
            self.step(rest);
        }
    }

    /// The hash.
    pub(crate) fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(start: usize, size: usize, count: [usize; 2], stride: [isize; 2]) -> Grid {
        Grid { start, size, count, stride }
    }

    #[test]
    fn elements_in_order_are_one_block() {
        let w = Written::new();
        (0..100).for_each(|i| w.note(grid(1000 + 8 * i, 8, [1, 1], [0, 0])));
        w.note(grid(5000, 8, [3, 2], [16, 100]));
        let mut pieces = vec![];
        w.pieces(|at, n| pieces.push((at, n)));
        assert_eq!(pieces[0], (1000, 800));
        assert_eq!(pieces[1..], [5000, 5016, 5032, 5100, 5116, 5132].map(|at| (at, 8)));
    }

    #[test]
    fn too_much_is_said() {
        let w = Written::new();
        w.note(grid(0, isize::MAX as usize, [1, 1], [0, 0]));
        assert!(w.is_lost());
        w.clear();
        (0..MOST + 1).for_each(|i| w.note(grid(1000 + 16 * i, 8, [1, 1], [0, 0])));
        assert!(w.is_lost());
    }

    proptest! {
        #[test]
        fn turned_bits_show(mut data in prop::collection::vec(0u8.., 1..200), at: usize, bit in 0u8..8) {
            let of = |d: &[u8]| {
                let w = Written::new();
                w.note(grid(d.as_ptr().addr(), d.len(), [1, 1], [0, 0]));
                w.hash()
            };
            let before = of(&data);
            let at = at % data.len();
            data[at] ^= 1 << bit;
            prop_assert_ne!(of(&data), before);
        }
    }
}
