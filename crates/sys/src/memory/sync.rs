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

/// In tests: the line of `word`, which several threads use, is touched (see team/lines.rs).
#[inline(always)]
pub fn touch<T>(_word: &T) {
    #[cfg(test)]
    touched::note(core::ptr::from_ref(_word).addr());
}

/// What [`touch`] has noted, by thread.
#[cfg(test)]
pub mod touched {
    use std::cell::RefCell;

    thread_local! {
        static LOG: RefCell<Option<Vec<usize>>> = const { RefCell::new(None) };
    }

    pub(super) fn note(at: usize) {
        LOG.with_borrow_mut(|log| log.iter_mut().for_each(|l| l.push(at)));
    }

    /// The addresses that `f` touches, in order.
    pub fn by<R>(f: impl FnOnce() -> R) -> (R, Vec<usize>) {
        LOG.set(Some(vec![]));
        let r = f();
        (r, LOG.take().expect("set above"))
    }
}
