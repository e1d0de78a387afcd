//! The atomics the protocols are written with. The loom models (tests/loom) compile the same protocol files
//! against their own version of this module, which re-exports loom's types.

pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Tells the CPU that the caller spins.
#[inline(always)]
pub fn spin_hint() {
    core::hint::spin_loop();
}
