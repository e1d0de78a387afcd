//! The frames of the code that a signal has interrupted, innermost first, by the unwind tables that every x86-64 program carries. The unwinder
//! is libgcc's, a copy of our own (build.rs): it does not know of frames that a just-in-time compiler has told libgcc_s of.

use core::ffi::{c_int, c_void};
use core::ops::ControlFlow;

/// One activation of a function on the interrupted thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// An address inside the instruction that is being executed: the interrupted one, or a call.
    pub pc: usize,
    /// The stack pointer in this frame.
    pub sp: usize,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(f: extern "C" fn(*mut c_void, *mut c_void) -> c_int, arg: *mut c_void) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_FindEnclosingFunction(pc: *mut c_void) -> *mut c_void;
}

/// `_URC_NO_REASON` and `_URC_END_OF_STACK` of the unwinder's interface (Itanium C++ ABI, 1.1).
const GO_ON: c_int = 0;
const STOP: c_int = 5;

struct Walk<'a> {
    interrupted: usize,
    reached: bool,
    visit: &'a mut dyn FnMut(Frame) -> ControlFlow<()>,
}

extern "C" fn step(context: *mut c_void, walk: *mut c_void) -> c_int {
    let mut before = 0;
    // SAFETY: the unwinder's own context, and the argument of `interrupted` below, which nobody else uses meanwhile.
    let (walk, ip, sp) = unsafe {
        let ip = _Unwind_GetIPInfo(context, &raw mut before);
        (&mut *walk.cast::<Walk<'_>>(), ip, _Unwind_GetCFA(context))
    };
    walk.reached |= before != 0 && ip == walk.interrupted;
    if !walk.reached {
        return GO_ON;
    }
    let pc = if before != 0 { ip } else { ip - 1 };
    if (walk.visit)(Frame { pc, sp }).is_break() { STOP } else { GO_ON }
}

/// Called in a signal handler: visits the frames of the code that was interrupted at `pc`, innermost first, until `visit` breaks or
/// the unwind tables end.
pub fn interrupted(pc: usize, visit: &mut dyn FnMut(Frame) -> ControlFlow<()>) {
    let mut walk = Walk { interrupted: pc, reached: false, visit };
    // SAFETY: `step` keeps to the interface; glibc finds the tables without locks.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
}

/// The first address of the function that `pc` lies in; 0 where the unwind tables know none.
pub fn function_around(pc: usize) -> usize {
    // It takes a return address, which may lie behind a function's last instruction.
    // SAFETY: looks an address up in the unwind tables.
    unsafe { _Unwind_FindEnclosingFunction((pc + 1) as *mut c_void) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{self, Interrupted};
    use core::sync::atomic::{AtomicUsize, Ordering::*};

    static FRAMES: AtomicUsize = AtomicUsize::new(0);
    static RAISED_BY: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn handler(_sig: i32, _info: *mut libc::siginfo_t, ctx: *mut libc::c_void) {
        // SAFETY: the kernel's context.
        let at = unsafe { Interrupted::from_context(ctx) };
        let test = function_around(RAISED_BY.load(Relaxed));
        let mut last_sp = 0;
        interrupted(at.pc, &mut |f| {
            let n = FRAMES.fetch_add(1, Relaxed);
            assert!(f.sp > last_sp && (n > 0 || f.pc == at.pc));
            last_sp = f.sp;
            if function_around(f.pc) == test { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    /// A function with a frame of its own, whatever is inlined into whom.
    #[inline(never)]
    fn raises() {
        // SAFETY: the handler above.
        unsafe { libc::raise(libc::SIGURG) };
        core::hint::black_box(());
    }

    #[test]
    fn from_libc_to_the_caller() {
        signals::install(libc::SIGURG, handler, false);
        RAISED_BY.store(raises as *const () as usize, Relaxed);
        raises();
        let n = FRAMES.load(Relaxed);
        assert!((2..6).contains(&n), "{n} frames between raise and this function");
    }
}
