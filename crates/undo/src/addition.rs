//! Atomic additions that can be taken back (plugin/src/segments/additions.cc says which).
//!
//! An addition whose result nobody sees commutes with those of other threads, so what the work in flight has
//! added is subtracted, atomically, before it is executed again. The record and the addition are one for a
//! stop: it waits until both are done. Who may see the sum in between:
//! crates/recover/src/addition_visibility.rs.

use crate::grid::Grid;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// In place of the distance of rows: the record is of an addition, and its element is what was added.
const ADDED: isize = isize::MIN;

/// The record's grid: `size` bytes at `at`.
pub(crate) fn grid(at: usize, size: usize) -> Grid {
    Grid { start: at, size, count: [1, 1], stride: [0, ADDED] }
}

/// Is `g` that of an addition?
pub(crate) fn is_addition(g: &Grid) -> bool {
    g.stride[1] == ADDED
}

/// Adds `value` to the `size` bytes at `at`, without regard to what goes beyond them.
///
/// # Safety
/// An aligned number of 1, 2, 4 or 8 bytes; others change it meanwhile by atomic instructions only.
#[inline(always)]
pub unsafe fn add(at: usize, size: usize, value: u64) {
    // SAFETY: by the caller's promise. Relaxed: so it was in the program.
    unsafe {
        match size {
            1 => _ = (*(at as *const AtomicU8)).fetch_add(value as u8, Relaxed),
            2 => _ = (*(at as *const AtomicU16)).fetch_add(value as u16, Relaxed),
            4 => _ = (*(at as *const AtomicU32)).fetch_add(value as u32, Relaxed),
            _ => _ = (*(at as *const AtomicU64)).fetch_add(value, Relaxed),
        }
    }
}
