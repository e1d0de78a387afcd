//! An event count: how the members of a team wait for anything that another member does.
//!
//! A waiter spins on its condition, then sleeps on `seq`; who makes a condition true calls [`Event::notify`] afterwards.
//! No wake-up is lost: the waiter reads `seq`, announces itself in `sleepers`, passes a sequentially consistent fence
//! and checks its condition once more before it sleeps on the value read; the notifier changes the condition, passes
//! such a fence and looks at `sleepers`. One of the two fences comes first, so either the waiter sees the condition or
//! the notifier sees the sleeper and changes `seq`, which makes the sleep return. Model: tests/loom/event.rs.

use super::aside::step_aside;
use super::room::Waker;
use crate::sys::futex;
use crate::sys::sync::{AtomicU32, Ordering::*, full_fence, spin_hint};

/// How long a thread stays awake for what it waits for.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Patience {
    /// Rounds it spins; 0: it sleeps at once.
    pub rounds: u32,
    /// Are there more threads than CPUs? Then it gives its CPU to others before it sleeps, and stays where the kernel puts it.
    pub crowded: bool,
}

/// How often.
const YIELDS: u32 = 32;

impl Patience {
    /// Waits awake; true as soon as `ready()` is.
    #[inline]
    pub fn stay(self, mut ready: impl FnMut() -> bool) -> bool {
        for _ in 0..self.rounds {
            if ready() {
                return true;
            }
            spin_hint();
        }
        if self.crowded && self.rounds > 0 {
            // Whoever is waited for may want this very CPU: that costs less than going to sleep and being woken.
            for _ in 0..YIELDS {
                if ready() {
                    return true;
                }
                if !step_aside() {
                    break;
                }
            }
        }
        false
    }

    /// What is left of it after [`Patience::stay`] has given `awake`.
    #[inline]
    pub fn after(self, awake: bool) -> Self {
        if awake { self } else { Self { rounds: 0, ..self } }
    }
}

/// See the module's text.
#[derive(Default)]
pub struct Event {
    seq: AtomicU32,
    sleepers: AtomicU32,
    waker: Waker,
}

/// Where `sleepers` lies, for entry/doacross.rs.
pub const SLEEPERS: usize = core::mem::offset_of!(Event, sleepers);

impl Event {
    /// Returns when `ready()` is true; sleeps when `patience` is at its end.
    pub fn wait(&self, patience: Patience, mut ready: impl FnMut() -> bool) {
        if patience.stay(&mut ready) {
            return;
        }
        while !ready() {
            let seen = self.seq.load(Relaxed);
            self.sleepers.fetch_add(1, Relaxed);
            full_fence();
            if !ready() {
                futex::wait(&self.seq, seen);
                self.waker.leave_cpu_to(patience);
            }
            self.sleepers.fetch_sub(1, Relaxed);
        }
    }

    /// Lets waiters look at their conditions again. Call after the condition has become true.
    #[inline]
    pub fn notify(&self) {
        full_fence();
        self.wake_sleepers();
    }

    /// [`Event::notify`] behind the caller's own fence.
    #[inline]
    pub fn wake_sleepers(&self) {
        if self.sleepers.load(Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        self.waker.is_here();
        self.seq.fetch_add(1, Release);
        futex::wake(&self.seq, u32::MAX);
    }
}
