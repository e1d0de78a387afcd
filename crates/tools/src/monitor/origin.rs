//! Where a region was started, for people. The return address says that, unless the function of which the
//! region is a part ended in a jump to the runtime: then it is an address of that function's caller, and the
//! outlined function's beginning stands for it, with its own name, and the directive's line.

use crate::sys::code;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Which pairs of return addresses and outlined functions are known: a hash of both, whose lowest bit says
/// whether the return address counts. Pairs in the same place take turns.
static KNOWN: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];

/// The site of a region with this outlined function, whose start returns to `site`.
pub(super) fn of_region(site: usize, function: usize) -> usize {
    let mixed = (site as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ function as u64;
    let hash = mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) | 1;
    let known = &KNOWN[(hash >> 55) as usize];
    let own = match known.load(Relaxed) {
        k if k | 1 == hash => k & 1 != 0,
        _ => {
            let own = code::names(site.saturating_sub(1), function);
            known.store(hash & !u64::from(!own), Relaxed);
            own
        }
    };
    // One more: it is looked in front of return addresses.
    if own { site } else { function + 1 }
}
