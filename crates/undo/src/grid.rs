//! What a record of old values (log.rs) is of.

use crate::addition;
use crate::log::LIMIT;

/// Elements of `size` bytes: `count[0]` of them `stride[0]` bytes apart, and that `count[1]` times,
/// `stride[1]` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grid {
    /// The first element.
    pub start: usize,
    /// Bytes.
    pub size: usize,
    /// Elements, rows.
    pub count: [usize; 2],
    /// Bytes from one to the next.
    pub stride: [isize; 2],
}

/// The last word of a record of one element, of 1, 2, 4 or 8 bytes: its address, below 2^56, with these bits.
/// Lengths have none of them.
pub(crate) struct Short;

impl Short {
    pub(crate) const MARK: usize = 1 << 63;
    pub(crate) const ADDED: usize = 1 << 62;
    const SIZE: u32 = 60;
    const ADDRESS: usize = (1 << 56) - 1;
    pub(crate) const LENGTH: usize = 16;

    /// `bits`: 0, or [`Short::ADDED`].
    #[inline(always)]
    pub(crate) fn word(start: usize, size: usize, bits: usize) -> usize {
        Self::MARK | bits | (size.trailing_zeros() as usize) << Self::SIZE | start
    }

    /// The element of such a word.
    pub(crate) fn grid(word: usize) -> Grid {
        let (start, size) = (word & Self::ADDRESS, 1 << (word >> Self::SIZE & 3));
        match word & Self::ADDED {
            0 => Grid { start, size, count: [1, 1], stride: [0, 0] },
            _ => addition::grid(start, size),
        }
    }
}

impl Grid {
    /// Its bytes, or so.
    pub fn length(&self) -> usize {
        self.size.wrapping_mul(self.count[0]).wrapping_mul(self.count[1])
    }

    /// Its bytes, if that is not too much for a log.
    pub(crate) fn bytes(&self) -> Option<usize> {
        self.size.checked_mul(self.count[0])?.checked_mul(self.count[1]).filter(|&n| n <= LIMIT)
    }

    /// Calls `f(address, bytes)` for each piece that lies together, in order.
    pub fn pieces(&self, mut f: impl FnMut(usize, usize)) {
        let row = |at: usize, f: &mut dyn FnMut(usize, usize)| {
            if self.stride[0] == self.size as isize {
                f(at, self.size * self.count[0]);
            } else {
                (0..self.count[0]).for_each(|i| {
                    f(at.wrapping_add_signed(self.stride[0].wrapping_mul(i as isize)), self.size)
                });
            }
        };
        for j in 0..self.count[1] {
            row(self.start.wrapping_add_signed(self.stride[1].wrapping_mul(j as isize)), &mut f);
        }
    }
}
