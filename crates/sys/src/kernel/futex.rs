//! Futex waits and wakes on 32-bit words of this process.

use crate::sync::AtomicU32;
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

/// Sleeps while `word` is `expected`, until woken, at most for `limit`. Has that gone by?
#[inline]
pub fn wait_for(word: &AtomicU32, expected: u32, limit: core::time::Duration) -> bool {
    const FOR: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let ts = libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
    // SAFETY: `word` and `ts` live across the call.
    let r = unsafe { sys!(libc::SYS_futex, word as *const AtomicU32, FOR, expected, &raw const ts, 0, 0) };
    r == -libc::ETIMEDOUT as isize
}

/// The kernel's `struct futex_waitv`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Waiter {
    expected: u64,
    word: u64,
    flags: u32,
    reserved: u32,
}

/// Up to `N` words that are slept on at once: the first by this process alone, the others in the way in which
/// the kernel wakes when a thread ends. The kernel takes up to 128.
pub struct Several<const N: usize> {
    list: [Waiter; N],
    count: usize,
}

impl<const N: usize> Several<N> {
    const SIZE_U32: u32 = 2;

    /// None yet. A constant, which is made where it is wanted: what a function returns may lie on the stack
    /// twice, and an idle thread keeps the page that this takes.
    pub const NONE: Self =
        Self { list: [Waiter { expected: 0, word: 0, flags: 0, reserved: 0 }; N], count: 0 };

    /// The first: `word` while it is `expected`. It lives as long as this does.
    pub fn begin(&mut self, word: &AtomicU32, expected: u32) {
        self.count = 0;
        self.put(word, expected, Self::SIZE_U32 | libc::FUTEX_PRIVATE_FLAG as u32);
    }

    /// And this one, if there is room and it is not 0.
    pub fn add(&mut self, word: &AtomicU32, expected: u32) {
        if expected != 0 && self.count < self.list.len() {
            self.put(word, expected, Self::SIZE_U32);
        }
    }

    fn put(&mut self, word: &AtomicU32, expected: u32, flags: u32) {
        let word = core::ptr::from_ref(word) as u64;
        self.list[self.count] = Waiter { expected: expected.into(), word, flags, reserved: 0 };
        self.count += 1;
    }

    /// Sleeps until one of them is woken or is not what was expected; its number, 0 for the first. `None`: a
    /// signal. Where the kernel cannot do that, or
    /// one of the words is not there any more, it sleeps on the first one for a while, and the answer is the
    /// last one's number.
    pub fn wait(&self, limit: Option<core::time::Duration>) -> Option<usize> {
        const AGAIN: isize = -libc::EAGAIN as isize;
        const INTERRUPTED: isize = -libc::EINTR as isize;
        let deadline = limit.map(|l| crate::time::now_ns() + l.as_nanos() as u64);
        let ts = deadline.map(|d| libc::timespec {
            tv_sec: (d / 1_000_000_000) as i64,
            tv_nsec: (d % 1_000_000_000) as i64,
        });
        let ts = ts.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the kernel reads the list; a word that is not there is an error.
        let r = unsafe {
            sys!(libc::SYS_futex_waitv, self.list.as_ptr(), self.count, 0, ts, libc::CLOCK_MONOTONIC, 0)
        };
        match r {
            0.. => Some(r as usize),
            INTERRUPTED => None,
            AGAIN => Some(self.count - 1),
            _ => {
                if limit.is_none() {
                    // SAFETY: the first word is a live one by the contract of `begin`'s caller.
                    let first = unsafe { &*(self.list[0].word as *const AtomicU32) };
                    wait_for(first, self.list[0].expected as u32, core::time::Duration::from_millis(50));
                }
                Some(self.count - 1)
            }
        }
    }

    /// Wakes the others that sleep on all words but the first: at a thread's end the kernel clears its word
    /// and wakes one. Several may have been cleared at once, of which [`Self::wait`] tells the last.
    pub fn pass_on(&self) {
        for w in &self.list[1..self.count] {
            // SAFETY: only the address matters to the kernel; a word that is gone is an error.
            unsafe { sys!(libc::SYS_futex, w.word, libc::FUTEX_WAKE, i32::MAX) };
        }
    }
}
