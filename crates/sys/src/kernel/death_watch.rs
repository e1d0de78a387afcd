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
//!
//! **Many threads** cannot all be slept on at once. Where there are more, each sleeper looks from time to
//! time, the more seldom the more there are, and only if nobody has looked just before: each look goes
//! through all threads, so that thousands which look as often as a few would do nothing else.

use crate::futex::{self, Several};
use crate::time;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use core::time::Duration;

/// How long nobody is thought to be dead, unless there are very many.
const SHORT: Duration = Duration::from_millis(10);
/// Between two looks, where the kernel does not tell.
const POLL: Duration = Duration::from_millis(50);
/// Most words that can be slept on at once, but the one that is waited for.
pub const MOST: usize = 127;
/// How long one of many sleeps at most until it looks, if nobody else does.
const SELDOM: Duration = Duration::from_secs(1);
/// Between two looks of many, whoever looks, in nanoseconds.
const LOOKED_NS: u64 = POLL.as_nanos() as u64 / 2;

/// What the layers above do.
pub struct Watch {
    /// How many threads there are.
    pub count: fn() -> usize,
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
    if futex::wait_for(word, expected, short()) {
        wait_long(word, expected);
    }
}

/// How long nobody is thought to be dead: of thousands, who are called one after the other, for longer.
fn short() -> Duration {
    // SAFETY: null, or a static.
    let watch = unsafe { WATCH.load(Acquire).as_ref() };
    watch.map_or(SHORT, |w| SHORT.max(turn((w.count)()) / 8))
}

/// How long one of `count` sleeps until it looks, if nobody else does.
fn turn(count: usize) -> Duration {
    POLL.saturating_mul((count / MOST).min(1000) as u32).min(SELDOM)
}

#[cold]
fn wait_long(word: &AtomicU32, expected: u32) {
    // SAFETY: null, or a static.
    let Some(watch) = (unsafe { WATCH.load(Acquire).as_ref() }) else { return futex::wait(word, expected) };
    while word.load(Acquire) == expected {
        let count = (watch.count)();
        if count > MOST {
            if !wait_among_many(word, expected, watch, count) {
                return;
            }
            continue;
        }
        // The list lies on the sleeper's stack: the shorter, the fewer pages an idle thread has.
        let other = match count {
            0..16 => sleep_on::<16>(word, expected, watch),
            16..72 => sleep_on::<72>(word, expected, watch),
            _ => sleep_on::<{ MOST + 1 }>(word, expected, watch),
        };
        if !other {
            return;
        }
    }
}

/// Looks, and sleeps on `word` and those of all threads, of which there are fewer than `N`; if there are more
/// by now, for a while. Has something else happened than what was waited for?
#[inline(never)]
fn sleep_on<const N: usize>(word: &AtomicU32, expected: u32, watch: &Watch) -> bool {
    let mut several = Several::<N>::NONE;
    several.begin(word, expected);
    let all = (watch.words)(&mut |w| several.add(w, w.load(Acquire)));
    (watch.look)();
    match several.wait((all >= N).then_some(POLL)) {
        // It is this one that was waited for, or a signal came.
        Some(0) | None => false,
        Some(_) => {
            several.pass_on();
            true
        }
    }
}

/// Looks, and sleeps for as long as one of `count` does. Has that gone by?
fn wait_among_many(word: &AtomicU32, expected: u32, watch: &Watch, count: usize) -> bool {
    if is_due(time::now_ns()) {
        (watch.look)();
    }
    // Those who have gone to sleep together wake up one after the other.
    let here = core::ptr::from_ref(&count).addr() as u32 >> 6;
    let spread = here.wrapping_mul(0x9e37_79b9) >> 24;
    let turn = turn(count);
    futex::wait_for(word, expected, turn / 2 + turn * spread / 256)
}

/// Has nobody looked just before? It is the caller then who does.
fn is_due(now: u64) -> bool {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.load(Relaxed);
    // What lies further ahead comes from a clock that has gone back (another machine).
    let soon = next.wrapping_sub(now);
    (soon == 0 || soon > LOOKED_NS) && NEXT.compare_exchange(next, now + LOOKED_NS, Relaxed, Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_one_looks_at_a_time() {
        const DAY: u64 = 86_400_000_000_000;
        assert!(is_due(DAY) && !is_due(DAY) && !is_due(DAY + LOOKED_NS - 1));
        assert!(is_due(DAY + LOOKED_NS), "its time has come");
        assert!(!is_due(DAY + LOOKED_NS + 1));
        assert!(is_due(DAY / 2), "the clock of another machine");
    }
}
