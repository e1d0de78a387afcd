//! Tables of what is summed up by address, filled by all threads without a lock. An entry belongs to the
//! first address that claims it, for good; the entries behind are tried where it is another's.
//!
//! Relaxed: an entry's sums are atomics of their own, and 0 before it is claimed.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The entry of `table` that belongs to `at` (not 0), claimed if it is new. `of` gives the word of an entry
/// that has its address; 0 is a free one. None: the table is full of others.
pub fn claim<T>(table: &[T], at: usize, of: impl Fn(&T) -> &AtomicUsize) -> Option<&T> {
    let first = (at >> 2).wrapping_mul(0x9E37_79B9) % table.len();
    table.iter().cycle().skip(first).take(table.len()).find(|t| {
        let had = of(t).compare_exchange(0, at, Relaxed, Relaxed).unwrap_or_else(|other| other);
        had == 0 || had == at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_one_entry_until_the_table_is_full() {
        let table = [const { AtomicUsize::new(0) }; 8];
        let place = |at: usize| claim(&table, at, |t| t).map(|t| core::ptr::from_ref(t) as usize);
        // All hash to one place or another: multiples of the size collide.
        let at = |i: usize| 32 * (i + 1);
        let first: Vec<_> = (0..8).map(|i| place(at(i)).expect("there is room")).collect();
        assert_eq!(first.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
        assert_eq!(place(at(8)), None);
        assert_eq!((0..8).map(|i| place(at(i)).unwrap()).collect::<Vec<_>>(), first);
    }
}
