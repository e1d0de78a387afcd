//! Sleeping until another thread does something, when that thread may be dead: ended by its own system call,
//! by a filter of system calls, by whatever.
//!
//! The kernel clears a word when a thread ends, which libc has told it of, and wakes one that sleeps on it:
//! `pthread_join` is made so. Who sleeps here
//! sleeps a short time on the word that it waits for, as a barrier between two steps does; from then on on
//! that word and on those of all threads, so
//! it wakes up when one ends. It then looks what has become of them ([`Watch::look`]). Where the kernel
//! cannot wait for several words
//! (futex_waitv(2), Linux 5.16), it looks again and again.
//!
//! No wake-up is lost: the words are read first; what has ended by then is found by the look behind it; what
//! ends later changes a word, and the kernel does
//! not let a thread sleep on a word that is not what it was when it was read. The kernel wakes one sleeper
//! only, who may not be whom it concerns
//! (somebody in `pthread_join`): all others are woken by the one.

use super::futex::{self, Several};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use core::time::Duration;

/// How long nobody is thought to be dead.
const SHORT: Duration = Duration::from_millis(10);
/// Between two looks, where the kernel does not tell.
const POLL: Duration = Duration::from_millis(50);
/// Most words that can be slept on at once, but the one that is waited for.
pub const MOST: usize = 127;

/// What the layers above do.
pub struct Watch {
    /// Gives the words of all threads, as far as there is room; how many there are.
    pub words: fn(&mut dyn FnMut(&'static AtomicU32)) -> usize,
    /// Looks whether a thread has ended that should not have, and sees to it.
    pub look: fn(),
    /// The same by a host that is no thread of the program's, if nobody else does.
    pub look_after: fn(),
    /// The thread pointer of the thread with this one, or with this host, if the host has ended and no new
    /// one has come.
    pub unseen: fn(usize, u32) -> Option<usize>,
}

/// How often a host that is no thread of the program's looks.
pub const LOOK_NS: u64 = 20_000_000;

/// By such a host: sees to threads that have ended and that nobody has seen to for a while.
pub fn look_after() {
    // SAFETY: null, or a static.
    if let Some(watch) = unsafe { WATCH.load(Acquire).as_ref() } {
        (watch.look_after)();
    }
}

/// See [`Watch::unseen`].
pub fn unseen(thread_pointer: usize, host: u32) -> Option<usize> {
    // SAFETY: null, or a static.
    unsafe { WATCH.load(Acquire).as_ref() }.and_then(|w| (w.unseen)(thread_pointer, host))
}

static WATCH: AtomicPtr<Watch> = AtomicPtr::new(core::ptr::null_mut());

/// From now on threads are watched.
pub fn begin(watch: &'static Watch) {
    WATCH.store(core::ptr::from_ref(watch).cast_mut(), Release);
}

/// Sleeps while `word` is `expected`, until woken. May return spuriously: callers re-check.
#[inline]
pub fn wait(word: &AtomicU32, expected: u32) {
    if futex::wait_for(word, expected, SHORT) {
        wait_long(word, expected);
    }
}

#[cold]
fn wait_long(word: &AtomicU32, expected: u32) {
    // SAFETY: null, or a static.
    let Some(watch) = (unsafe { WATCH.load(Acquire).as_ref() }) else { return futex::wait(word, expected) };
    while word.load(Acquire) == expected {
        let mut several = Several::new(word, expected);
        let all = (watch.words)(&mut |w| several.add(w, w.load(Acquire)));
        (watch.look)();
        match several.wait((all > MOST).then_some(POLL)) {
            // It is this one that was waited for, or a signal came.
            Some(0) | None => return,
            Some(_) => several.pass_on(),
        }
    }
}
