//! Activations: calls of the functions that compiled code has outlined, behind save points of their own.

use super::thread::Thread;
use crate::save;
use crate::sys::asm;
use core::sync::atomic::Ordering::Relaxed;

/// Calls `call` as the current activation of `thr` and restores the enclosing one.
///
/// `args` is the memory (address, bytes) that the function may change and that belongs to this activation
/// alone: a task's argument block.
#[inline]
pub fn activate(thr: &'static Thread, call: (usize, usize), args: (usize, usize)) {
    activate_here(thr, call, args);
}

/// [`activate`] without a frame of its own.
#[inline(always)]
pub(crate) fn activate_here(thr: &'static Thread, call: (usize, usize), args: (usize, usize)) {
    let (frame, base, outer) = (thr.frame.get(), thr.base.load(Relaxed), thr.call.get());
    thr.call.set(call);
    save::enter(thr, args);
    // SAFETY: compiled OpenMP code gave the function and its argument for this purpose; `thr` is the caller.
    unsafe { asm::promp_call(call.0, call.1, core::ptr::from_ref(thr).addr()) };
    thr.frame.set(frame);
    thr.base.store(base, Relaxed);
    thr.call.set(outer);
}
