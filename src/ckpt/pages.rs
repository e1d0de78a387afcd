//! Pages on their way into the page store.

use super::image::{self, Entry};

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
