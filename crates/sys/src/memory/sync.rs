//! The atomics the protocols are written with. The loom models (tests/loom) compile the same protocol files
//! against their own version of this module, which re-exports loom's types.

pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Tells the CPU that the caller spins.
#[inline(always)]
pub fn spin_hint() {
    core::hint::spin_loop();
}

/// Has the cache line of `word`, which will be written to soon, brought here now: others that read it give it up meanwhile.
#[inline(always)]
pub fn fetch_to_write<T>(word: &T) {
    // SAFETY: a hint, which CPUs that do not know it ignore.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) core::ptr::from_ref(word), options(nostack, preserves_flags))
    }
}

/// A sequentially consistent fence. On x86 every locked instruction is one, and a locked OR of nothing to the stack's top, which
/// is in the cache, takes half as long as the `mfence` that `fence(SeqCst)` becomes.
#[inline(always)]
pub fn full_fence() {
    // SAFETY: changes no memory.
    unsafe { core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack)) }
}
