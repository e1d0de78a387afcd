//! The atomics the protocols are written with. The loom models (tests/loom) compile the same protocol files
//! against their own version of this module, which re-exports loom's types.

use super::syscall;
use core::sync::atomic::{AtomicBool, Ordering::*, compiler_fence};
pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Does the kernel put a full fence into all running threads of the process for one that asks for it?
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

/// Makes [`light_fence`] cost nothing, if the kernel helps (membarrier, Linux 4.14). Called while the process has one thread in the
/// runtime.
pub fn use_membarrier() {
    ASYMMETRIC.store(syscall::register_membarrier(), Relaxed);
}

/// One of a pair with [`heavy_fence`], for the side that is in a hurry: of two threads that each write, pass such a fence and read
/// what the other writes, at least one sees the other's write.
#[inline(always)]
pub fn light_fence() {
    if ASYMMETRIC.load(Relaxed) {
        compiler_fence(SeqCst);
    } else {
        full_fence();
    }
}

/// The other one of the pair, for the side that is about to sleep. False: it is not to be relied on, because the kernel has changed its mind
/// (seccomp); sleep for a short time only.
pub fn heavy_fence() -> bool {
    full_fence();
    // A process that came into being by fork or a restart has not registered.
    !ASYMMETRIC.load(Relaxed)
        || syscall::membarrier()
        || (syscall::register_membarrier() && syscall::membarrier())
}

/// Tells the CPU that the caller spins.
#[inline(always)]
pub fn spin_hint() {
    core::hint::spin_loop();
}

/// A sequentially consistent fence. On x86 every locked instruction is one, and a locked OR of nothing to the stack's top, which
/// is in the cache, takes half as long as the `mfence` that `fence(SeqCst)` becomes.
#[inline(always)]
pub fn full_fence() {
    // SAFETY: changes no memory.
    unsafe { core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack)) }
}

/// Gives the CPU to another thread that wants it.
#[inline]
pub fn yield_now() {
    super::syscall::sched_yield();
}
