//! Waits for signals. `sigsuspend` and `pause` end when a handler has been executed, and not before: programs
//! rely on that (collectors stop threads so). One that a handler of ours has interrupted is made again
//! (syscall_restart.rs), but one that has ended must not be, or it waits for ever. To a handler that comes at
//! the instruction behind the call both look alike.
//!
//! So all signals are blocked around the call, and come only while it waits: whoever is interrupted behind a
//! call of sigsuspend(2) while ours are blocked otherwise has been interrupted in it. And what the program is
//! sent while it is in our handler waits, and ends the call that is made again. The program's calls lead here
//! with checkpoints (sys/glibc/got.rs), by which ours get into such waits in the first place.
//!
//! Handlers that are executed in such a wait find all signals blocked in the context that they have
//! interrupted; what they block themselves is as ever.

use crate::masks::{Filtered, Set};
use crate::sys::got::calls_instead;
use crate::sys::{follow, pending_signals, signals};
use crate::{keep, requests, seats};
use core::ffi::c_int;

calls_instead! {
    fn sigsuspend(set: Set) -> c_int { let own = Filtered::of(set); let set = own.set(); } = |real| {
        let before = signals::block_all();
        let r = real();
        signals::set_mask(before);
        r
    };
    fn pause() -> c_int = |_real| {
        let before = signals::block_all();
        // SAFETY: zeros are a set, of which the kernel reads the first word.
        let r = unsafe {
            let mut set: libc::sigset_t = core::mem::zeroed();
            *(&raw mut set).cast::<u64>() = before;
            libc::sigsuspend(&raw const set)
        };
        signals::set_mask(before);
        r
    };
}

/// Signals of ours that interrupt waits of the program's threads.
pub(crate) fn ours() -> u64 {
    let to_threads = seats::signals() & !pending_signals::bit(follow::signal());
    to_threads | keep::if_on().map_or(0, requests::handled)
}
