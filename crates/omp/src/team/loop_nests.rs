//! What nests of loops write, in numbers that promp-cc has computed where a checkpoint may be taken
//! (plugin/src/checkpoints/dead.cc): is it without gaps, and where?
//!
//! ```text
//! list   words of the list, nests, nest*, what it is
//! nest   first byte, bytes of an element, number of loops, (stride, count)*
//! ```
//!
//! A nest writes an element at its first byte plus the sum of stride times each number less than count, over
//! its loops. promp-cc has proved it for the case that each loop is executed once at least, and takes
//! numbers for what they are: one that is out of bounds says that nothing is dead. The last word is the
//! address of two texts, each with a zero behind it: what the memory is, and which place that is. A list of
//! no nests has them for what is dead by another way.

use crate::ckpt::dead_memory_claims::Range;
use promp_layouts::{DEAD_LEVELS as LEVELS, DEAD_NESTS as NESTS};

/// More is no memory.
const MOST: usize = 1 << 47;

/// What a nest writes.
fn nest(first: usize, element: usize, loops: &[(usize, usize)]) -> Option<Range> {
    let mut sorted = [(0, 0); LEVELS];
    let sorted = sorted.get_mut(..loops.len())?;
    sorted.copy_from_slice(loops);
    sorted.sort_unstable();
    let mut bytes = element;
    for &(stride, count) in sorted.iter() {
        if count == 0 || count >= MOST {
            return None;
        }
        // One that always writes the same, or is executed once only.
        if stride == 0 || count == 1 {
            continue;
        }
        if stride != bytes {
            return None;
        }
        bytes = bytes.checked_mul(count).filter(|&b| b < MOST)?;
    }
    let end = first.checked_add(bytes)?;
    (element > 0 && end < MOST).then_some((first, end))
}

/// What all nests of a list write.
pub fn range(list: &[usize]) -> Option<Range> {
    let count = *list.get(1)?;
    if count == 0 || count > NESTS {
        return None;
    }
    let (mut all, mut at) = ((0, usize::MAX), 2);
    for _ in 0..count {
        let &[first, element, levels] = list.get(at..at + 3)? else { return None };
        let mut loops = [(0, 0); LEVELS];
        let words = list[at + 3..].chunks_exact(2);
        for (l, w) in loops.get_mut(..levels)?.iter_mut().zip(words) {
            *l = (w[0], w[1]);
        }
        let r = nest(first, element, &loops[..levels])?;
        all = (all.0.max(r.0), all.1.min(r.1));
        at += 3 + 2 * levels;
    }
    (all.0 < all.1).then_some(all)
}

/// The address of what a list says it is about; 0: it does not.
pub fn name(list: &[usize]) -> usize {
    let nests = list.get(1).copied().unwrap_or(0).min(NESTS);
    let behind = (0..nests).try_fold(2, |at, _| Some(at + 3 + 2 * list.get(at + 2)?.min(&LEVELS)));
    behind.and_then(|at: usize| list.get(at)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// By trying all iterations.
    fn elements(first: usize, element: usize, loops: &[(usize, usize)]) -> BTreeSet<usize> {
        let mut all = BTreeSet::from([first]);
        for &(stride, count) in loops {
            all = all.iter().flat_map(|a| (0..count).map(move |k| a + stride * k)).collect();
        }
        all.iter().flat_map(|a| *a..a + element).collect()
    }

    #[test]
    fn what_is_said_to_be_written_is() {
        let mut some = 0;
        for element in [1, 8] {
            for n in 0..6_usize.pow(4) {
                let digit = |k: u32| n / 6_usize.pow(k) % 6;
                let loops = [(digit(0) * element, digit(1)), (digit(2) * element, digit(3))];
                let written = elements(100, element, &loops);
                if let Some((start, end)) = nest(100, element, &loops) {
                    assert_eq!(written, (start..end).collect(), "{element} {loops:?}");
                    some += 1;
                }
            }
        }
        assert!(some > 100);
    }

    #[test]
    fn numbers_out_of_bounds_say_nothing() {
        let minus = |n: usize| 0_usize.wrapping_sub(n);
        for loops in [
            [(8, minus(3)), (24, 3)],
            [(minus(8), 3), (24, 3)],
            [(8, 1 << 46), (1 << 49, 2)],
            [(8, 0), (8, 3)],
        ] {
            assert_eq!(nest(4096, 8, &loops), None, "{loops:?}");
        }
        assert_eq!(nest(minus(8), 8, &[(8, 2)]), None);
        assert_eq!(nest(0, 0, &[(0, 2)]), None);
    }

    #[test]
    fn lists_are_met() {
        let two = [14, 2, 4096, 8, 1, 8, 100, 4096 + 80, 8, 2, 80, 10, 8, 10];
        assert_eq!(range(&two), Some((4096 + 80, 4096 + 800)));
        assert_eq!(range(&two[..7]), None);
        // What it is stands behind the nests, if it does.
        assert_eq!(name(&two), 0);
        let named = [&[15], &two[1..], &[77]].concat();
        assert_eq!((range(&named), name(&named), name(&[3, 0, 78])), (range(&two), 77, 78));
        assert_eq!((name(&two[..7]), name(&[5, 1, 4096, 8, 1 << 60])), (0, 0));
        assert_eq!(range(&[2, 0]), None);
        assert_eq!(range(&[5, 1, 4096, 8, 9]), None);
        // They have nothing in common.
        assert_eq!(range(&[8, 2, 0, 8, 0, 8, 8, 0]), None);
    }
}
