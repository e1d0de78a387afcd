//! Stops wait, where something must not be stopped half way.

use super::thread::{Thread, current};
use crate::recovery;
use core::sync::atomic::{Ordering::*, compiler_fence};

/// Does what must not be stopped half way, because it takes locks or memory, whether a runtime call is in
/// progress or not: a stop waits until it is done.
#[inline(always)]
pub fn hold_off<R>(thr: &'static Thread, f: impl FnOnce() -> R) -> R {
    let before = thr.in_runtime.load(Relaxed);
    thr.in_runtime.store(1, Relaxed);
    // Nothing of `f` is to be moved out; one host, and signal handlers on it.
    compiler_fence(SeqCst);
    let r = f();
    compiler_fence(SeqCst);
    thr.in_runtime.store(before, Relaxed);
    if before == 0 && thr.pending.load(Relaxed) != 0 {
        recovery().deliver(thr);
    }
    r
}

/// Runs the body of an exported function that has no stub but takes locks or allocates: a stop waits until
/// it is done.
pub fn guarded<R>(f: impl FnOnce() -> R) -> R {
    hold_off(current(), f)
}
