//! Pages on their way into the page store.

use promp_image::{self as image, Entry};

/// The slot of a page that has none yet.
pub const UNPLACED: u64 = u64::MAX;
/// The slot of a page that turned out to be empty: it is not saved.
pub const EMPTY: u64 = UNPLACED - 1;
/// The slot of a page that could not be read.
pub const UNREADABLE: u64 = UNPLACED - 2;

/// The entry of `page`, which holds `content`. Is it as it was `before`, it keeps its slot. In memory that is `anonymous` zero is no content.
pub fn entry(page: u64, content: &[u8], anonymous: bool, before: Option<&Entry>) -> Entry {
    if anonymous && is_zero(content) {
        return Entry { page, slot: EMPTY, sum: 0 };
    }
    let sum = image::page_sum(page, content);
    match before {
        Some(before) if before.sum == sum => *before,
        _ => Entry { page, slot: UNPLACED, sum },
    }
}

fn is_zero(page: &[u8]) -> bool {
    // SAFETY: any bytes are words.
    let (head, words, tail) = unsafe { page.align_to::<u64>() };
    head.iter().chain(tail).all(|&b| b == 0) && words.iter().all(|&w| w == 0)
}

/// Entries of an index, asked for page by page, in order.
pub struct Known<'a>(&'a [Entry]);

impl<'a> Known<'a> {
    /// Those of `index` from `page` on.
    pub fn from(index: &'a [Entry], page: u64) -> Self {
        Self(&index[index.partition_point(|e| e.page < page)..])
    }

    /// That of `page`, which lies behind those asked for before, if there is one.
    pub fn of(&mut self, page: u64) -> Option<&'a Entry> {
        // There are as many as pages between, at most.
        let most =
            self.0.first().map_or(0, |e| page.saturating_sub(e.page).min(self.0.len() as u64) as usize);
        self.0 = &self.0[self.0[..most].partition_point(|e| e.page < page)..];
        self.0.first().filter(|e| e.page == page)
    }

    /// Is there none before `page`?
    pub fn none_before(&self, page: u64) -> bool {
        self.0.first().is_none_or(|e| e.page >= page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_skipped_up_to_a_page() {
        let entries = [2, 3, 7, 8, 20].map(|page| Entry { page, slot: 0, sum: 0 });
        for from in 0..25 {
            for step in 1..7 {
                let mut known = Known::from(&entries, from);
                assert_eq!(
                    known.none_before(8),
                    !(0..8).any(|p| p >= from && entries.iter().any(|e| e.page == p))
                );
                for page in (from..25).step_by(step) {
                    assert_eq!(known.of(page), entries.iter().find(|e| e.page == page), "{from} {page}");
                }
            }
        }
        assert_eq!(Known::from(&[], 0).of(5), None);
    }
}
