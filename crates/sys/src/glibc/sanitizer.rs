//! AddressSanitizer, if the program was built with it: it marks the gaps between a function's variables until the function returns. The
//! functions of a host that has failed do not return.

use core::sync::atomic::{AtomicUsize, Ordering::*};

/// `__asan_unpoison_memory_region(address, bytes)`, or 0.
static UNPOISON: AtomicUsize = AtomicUsize::new(0);

/// Looks whether it is there: call once, on an ordinary thread.
pub fn learn() {
    // SAFETY: looks up a symbol.
    let f = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__asan_unpoison_memory_region".as_ptr()) };
    UNPOISON.store(f as usize, Relaxed);
}

/// Takes the marks of all functions on the stack from `sp` to `base` away: what is called there next puts up its own.
pub fn forget_frames(sp: usize, base: usize) {
    const RED_ZONE: usize = 128;
    let f = UNPOISON.load(Relaxed);
    if f != 0 && sp < base {
        // SAFETY: the sanitizer's interface; it writes to its own memory only.
        unsafe {
            let f: extern "C" fn(usize, usize) = core::mem::transmute(f);
            f(sp - RED_ZONE, base - sp + RED_ZONE);
        }
    }
}
