//! What later regions get for a failed thread (PROMP_AFTER): its replacement, or one thread fewer.

use crate::icv::globals;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// By how many threads later regions are smaller.
pub static RETIRED: AtomicU32 = AtomicU32::new(0);

/// A member of a team has failed.
pub fn thread_failed() {
    if globals().promp.shrink {
        RETIRED.fetch_add(1, Relaxed);
    }
}

/// By how many threads later regions are smaller.
#[inline]
pub(crate) fn retired() -> u32 {
    RETIRED.load(Relaxed)
}
