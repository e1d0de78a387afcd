//! An event count: how the members of a team wait for anything that another member does.
//!
//! A waiter spins on its condition, then sleeps on `seq`; who makes a condition true calls [`Event::notify`] afterwards.
//! No wake-up is lost: the waiter reads `seq`, announces itself in `sleepers`, passes a sequentially consistent fence
//! and checks its condition once more before it sleeps on the value read; the notifier changes the condition, passes
//! such a fence and looks at `sleepers`. One of the two fences comes first, so either the waiter sees the condition or
//! the notifier sees the sleeper and changes `seq`, which makes the sleep return. Model: tests/loom/event.rs.

use super::{pool, room};
use crate::sys::futex;
use crate::sys::sync::{AtomicU32, Ordering::*, full_fence, spin_hint, yield_now};

/// See the module's text.
#[derive(Default)]
pub struct Event {
    seq: AtomicU32,
    sleepers: AtomicU32,
    /// The CPU of who woke the sleepers last.
    waker: AtomicU32,
}

impl Event {
    /// Returns when `ready()` is true; spins for `spin` rounds before it sleeps.
    pub fn wait(&self, spin: u32, mut ready: impl FnMut() -> bool) {
        for _ in 0..spin {
            if ready() {
                return;
            }
            spin_hint();
        }
        if pool::is_crowded(spin) {
            // Whoever is waited for may want this very CPU: that costs less than going to sleep and being woken.
            for _ in 0..pool::YIELDS {
                if ready() {
                    return;
                }
                yield_now();
            }
        }
        while !ready() {
            let seen = self.seq.load(Relaxed);
            self.sleepers.fetch_add(1, Relaxed);
            full_fence();
            if !ready() {
                futex::wait(&self.seq, seen);
                if !pool::is_crowded(spin) {
                    room::step_aside(self.waker.load(Relaxed));
                }
            }
            self.sleepers.fetch_sub(1, Relaxed);
        }
    }

    /// Lets waiters look at their conditions again. Call after the condition has become true.
    #[inline]
    pub fn notify(&self) {
        full_fence();
        if self.sleepers.load(Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        self.waker.store(room::here(), Relaxed);
        self.seq.fetch_add(1, Release);
        futex::wake(&self.seq, u32::MAX);
    }
}
