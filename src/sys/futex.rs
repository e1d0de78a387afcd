//! Futex waits and wakes on 32-bit words of this process.

use super::sync::AtomicU32;
use crate::sys;

const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Sleeps while `word` is `expected`, until woken. May return spuriously: callers re-check.
pub fn wait(word: &AtomicU32, expected: u32) {
    // SAFETY: `word` is a live, aligned 32-bit word; no timeout.
    unsafe { sys!(libc::SYS_futex, word as *const AtomicU32, WAIT, expected, 0, 0, u32::MAX) };
}

/// Like [`wait`], until `deadline_ns` of the monotonic clock at the latest.
pub fn wait_until(word: &AtomicU32, expected: u32, deadline_ns: u64) {
    let ts = libc::timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as i64,
        tv_nsec: (deadline_ns % 1_000_000_000) as i64,
    };
    // SAFETY: `word` and `ts` live across the call.
    unsafe { sys!(libc::SYS_futex, word as *const AtomicU32, WAIT, expected, &raw const ts, 0, u32::MAX) };
}

/// Wakes up to `n` sleepers on `word`.
pub fn wake(word: &AtomicU32, n: u32) {
    // SAFETY: only the address matters to the kernel.
    unsafe { sys!(libc::SYS_futex, word as *const AtomicU32, WAKE, n.min(i32::MAX as u32)) };
}
