//! Threads that block all signals, as helpers of libraries do, and come upon lost memory: the kernel ends a
//! process in which SIGSEGV or SIGBUS is blocked then. So where a thread blocks both, and their handlers are
//! ours, they stay out of its mask (masks.rs).
//!
//! The mask has in their place the bit of a signal that threads of the program's are never sent
//! (sys/kernel/follow.rs). So it goes wherever the mask goes: to threads that are made, through handlers,
//! jumps, changes of host and checkpoints. The program is told that it blocks the two. What is *sent* to such
//! a thread waits as it would: the handler (recover/stop.rs) sends it once more and blocks it in earnest.
//!
//! Programs that are executed get the mask that the program has set (exec.rs).
//!
//! Known to differ: what a thread is sent after the program has put a handler of its own in place of ours.

use crate::sys::{follow, pending_signals, signals};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use libc::sigset_t;

/// By these a thread hears of lost memory.
const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Is there a mask with the mark? Relaxed: who asks has such a mask from itself, or from its creator.
static ANY: AtomicBool = AtomicBool::new(false);

/// Both.
pub fn set() -> u64 {
    SIGNALS.into_iter().fold(0, |set, s| set | pending_signals::bit(s))
}

/// What stands for them in a mask.
fn mark() -> u64 {
    pending_signals::bit(follow::signal())
}

/// Does a thread with this mask block them, as far as the program knows?
pub fn are_blocked(mask: u64) -> bool {
    ANY.load(Relaxed) && mask & mark() != 0
}

/// The set to be passed on, in place of `wanted`, to the call that changes the calling thread's mask.
pub fn left_open(how: c_int, wanted: u64) -> u64 {
    if how == libc::SIG_UNBLOCK {
        if wanted & set() != 0 && are_blocked(signals::block(0)) {
            // One that stays is blocked in earnest.
            signals::block(set() & !wanted);
            return wanted | mark();
        }
    } else if wanted & set() == set() && signals::have_ours(&SIGNALS) {
        ANY.store(true, Relaxed);
        return wanted & !set() | mark();
    }
    wanted
}

/// Tells the program what it blocked before.
///
/// # Safety
/// Null, or a set.
pub unsafe fn tell(before: *mut sigset_t) {
    if !before.is_null() {
        // SAFETY: by the caller's promise; the kernel's part of a set is its first word.
        let word = unsafe { &mut *before.cast::<u64>() };
        *word = in_earnest(*word);
    }
}

/// A thread's mask as it would be without the mark.
pub fn in_earnest(mask: u64) -> u64 {
    if are_blocked(mask) { mask & !mark() | set() } else { mask }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_them_in_a_mask() {
        let (before, usr) = (signals::set_mask(0), pending_signals::bit(libc::SIGUSR1));
        // Without handlers of ours nothing is different.
        assert_eq!(left_open(libc::SIG_BLOCK, set() | usr), set() | usr);
        ANY.store(true, Relaxed);
        signals::set_mask(mark() | usr);
        assert!(are_blocked(signals::block(0)));
        assert_eq!(left_open(libc::SIG_UNBLOCK, usr), usr);
        assert_eq!(left_open(libc::SIG_UNBLOCK, set()), set() | mark());
        let (segv, bus) = (pending_signals::bit(libc::SIGSEGV), pending_signals::bit(libc::SIGBUS));
        assert_eq!(left_open(libc::SIG_UNBLOCK, segv), segv | mark());
        assert_eq!(signals::block(0), mark() | usr | bus, "the other one stays blocked");
        // SAFETY: zeros are a set.
        let mut told: sigset_t = unsafe { core::mem::zeroed() };
        let word = |told: &mut sigset_t| &raw mut *told as *mut u64;
        // SAFETY: the set's first word, on this stack; the set.
        let after = unsafe {
            *word(&mut told) = mark() | usr;
            tell(&raw mut told);
            *word(&mut told)
        };
        assert_eq!(after, set() | usr);
        signals::set_mask(before);
    }
}
