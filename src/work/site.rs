//! What is learned about call sites: does the worksharing construct that starts there end in a barrier?
//!
//! A direct-mapped table of return addresses; a collision forgets. Relaxed: an entry is a hint, complete in one word.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SIZE: usize = 512;
static TABLE: [AtomicU64; SIZE] = [const { AtomicU64::new(0) }; SIZE];

fn slot(site: usize) -> &'static AtomicU64 {
    &TABLE[(site >> 2).wrapping_mul(0x9E37_79B9) % SIZE]
}

/// Does the construct started at `site` end in a barrier, as far as is known?
pub fn ends_in_barrier(site: usize) -> bool {
    site != 0 && slot(site).load(Relaxed) == (site as u64) << 1 | 1
}

/// Learns how the construct started at `site` ended.
#[inline]
pub fn learn(site: usize, barrier: bool) {
    let v = (site as u64) << 1 | u64::from(barrier);
    let s = slot(site);
    if site != 0 && s.load(Relaxed) != v {
        s.store(v, Relaxed);
    }
}
