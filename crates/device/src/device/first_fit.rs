//! First-fit allocation in a range of addresses: where each piece lies, nothing of what is in it.

use std::collections::BTreeMap;

/// A range that begins at 0 and is `size` long.
#[derive(Default, Debug)]
pub struct Ranges {
    size: usize,
    top: usize,
    free: BTreeMap<usize, usize>,
    used: BTreeMap<usize, usize>,
}

impl Ranges {
    /// An empty one.
    pub fn new(size: usize) -> Self {
        Self { size, ..Self::default() }
    }

    /// Takes a piece.
    pub fn take(&mut self, bytes: usize) -> Option<usize> {
        let fit = self.free.iter().find(|&(_, &n)| n >= bytes).map(|(&at, &n)| (at, n));
        let at = match fit {
            Some((at, n)) => {
                self.free.remove(&at);
                if n > bytes {
                    self.free.insert(at + bytes, n - bytes);
                }
                at
            }
            None => {
                let end = self.top.checked_add(bytes).filter(|&e| e <= self.size)?;
                core::mem::replace(&mut self.top, end)
            }
        };
        self.used.insert(at, bytes);
        Some(at)
    }

    /// Puts a piece back: its length, if it was taken.
    pub fn put(&mut self, at: usize) -> Option<usize> {
        let bytes = self.used.remove(&at)?;
        let (mut start, mut n) = (at, bytes);
        if let Some((&before, &m)) = self.free.range(..start).next_back()
            && before + m == start
        {
            self.free.remove(&before);
            (start, n) = (before, m + n);
        }
        if let Some(m) = self.free.remove(&(start + n)) {
            n += m;
        }
        self.free.insert(start, n);
        Some(bytes)
    }

    /// Behind the last piece that was ever taken.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// Bytes that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.used.values().sum()
    }

    /// Is nothing taken?
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_never_overlap(steps in prop::collection::vec((1usize..40, prop::bool::ANY), 0..200)) {
            let mut r = Ranges::new(1000);
            let mut live: Vec<(usize, usize)> = Vec::new();
            for (n, take) in steps {
                if take || live.is_empty() {
                    if let Some(at) = r.take(n) {
                        prop_assert!(at + n <= 1000);
                        prop_assert!(live.iter().all(|&(a, m)| at + n <= a || a + m <= at));
                        live.push((at, n));
                    }
                } else {
                    let (at, m) = live.swap_remove(n % live.len());
                    prop_assert_eq!(r.put(at), Some(m));
                }
                prop_assert_eq!(r.taken(), live.iter().map(|l| l.1).sum::<usize>());
            }
            for (at, _) in live {
                r.put(at);
            }
            prop_assert!(r.is_empty());
            prop_assert_eq!(r.take(r.top().max(1)), Some(0));
        }
    }
}
