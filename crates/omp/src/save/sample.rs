//! PROMP_SDC=chunks verifies samples of the chunks: what saving, and its price, must know of it.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Are chunks verified at all?
static ON: AtomicBool = AtomicBool::new(false);

/// From now on they are.
pub fn begin() {
    ON.store(true, Relaxed);
}

/// Are chunks verified at all?
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}
