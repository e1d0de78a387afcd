//! An event count: how the members of a team wait for anything that another member does.
//!
//! A waiter spins on its condition, then sleeps on `seq`; who makes a condition true calls
//! [`Event::notify`] afterwards. No wake-up is lost: the waiter reads `seq`, announces itself in
//! `sleepers`, passes a sequentially consistent fence and checks its condition once more before it sleeps
//! on the value read; the notifier changes the condition, passes such a fence and looks at `sleepers`. One
//! of the two fences comes first, so either the waiter sees the condition or the notifier sees the sleeper
//! and changes `seq`, which makes the sleep return.
//!
//! Waiters are of four kinds ([`Waiters`]), each with a `seq` of its own. Who knows whom a change concerns
//! wakes only those: in a team of thousands every member that comes to the end of a loop or region would
//! wake all that have come before it, to no end. `sleepers` has three parts: helpers inside the region
//! count as such that wait inside, and once more in `asleep`, which says which words are slept on.
//!
//! **Without a fence.** Who posts an iteration of a doacross loop posts thousands, and a fence would have it
//! wait each time until all it has written is out. It looks at `sleepers` at once; who is about to sleep
//! there has announced itself, and then has every other thread pass a fence ([`Event::wait_unfenced`]): a
//! thread that does so before its look sees the sleeper, one that does so behind it had changed the
//! condition before, and the waiter sees that.
//!
//! **A task that is ready** concerns one helper ([`Event::notify_task`]): none if another one is awake and
//! looks for tasks, as its member's mark says (task/pool.rs); else one is woken. Whoever finds a task takes
//! its mark away, passes a fence and wakes the next one if there are more tasks ([`Event::call_helper`]).
//! So no ready task is left while all helpers sleep: either the creator, behind its fence, sees the mark
//! taken away, or the helper that has taken it away, behind its own, sees the task. Models:
//! tests/loom/src/sleepers.rs.

use super::cpu_spread::Waker;
use super::cpu_yield::step_aside;
use crate::sys::sync::{AtomicU32, AtomicU64, Ordering::*, full_fence, spin_hint};
use crate::sys::{death_watch, futex};

/// How long a thread stays awake for what it waits for.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Patience {
    /// Rounds it spins; 0: it sleeps at once.
    pub rounds: u32,
    /// Are there more threads than CPUs? Then it gives its CPU to others before it sleeps, and stays where
    /// the kernel puts it.
    pub crowded: bool,
    /// How often it does then.
    pub yields: u8,
}

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
        if self.yields > 0 && self.rounds > 0 {
            // Whoever is waited for may want this very CPU: that costs less than going to sleep and being
            // woken.
            for _ in 0..self.yields {
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
    pub(crate) fn after(self, awake: bool) -> Self {
        if awake { self } else { Self { rounds: 0, ..self } }
    }
}

/// Kinds of waiters.
#[derive(Clone, Copy, PartialEq)]
#[repr(usize)]
pub(crate) enum Waiters {
    /// In the region: at barriers, for tasks, for their turn; the primary thread at the region's end.
    Inside = 0,
    /// At the end of a loop, to take over chunks of a member that fails.
    Staying = 1,
    /// Workers at the end of the region: for tasks, for the next region.
    Resting = 2,
    /// Those inside the region who execute any task meanwhile. Who wakes all inside wakes them, too.
    Helping = 3,
}

/// Bits of [`Event::sleepers`] for each part: two million threads.
const BITS: u32 = 21;
const KINDS: [Waiters; 4] = [Waiters::Inside, Waiters::Staying, Waiters::Resting, Waiters::Helping];

impl Waiters {
    /// One sleeper of this kind.
    const fn one(self) -> u64 {
        let part = match self {
            Self::Helping => Self::Inside,
            other => other,
        };
        1 << (BITS * part as u32)
    }

    /// Where sleepers of this kind are counted.
    const fn mask(self) -> u64 {
        self.one() * ((1 << BITS) - 1)
    }
}

/// See the module's text.
#[derive(Default)]
pub struct Event {
    sleepers: AtomicU64,
    seq: [AtomicU32; KINDS.len()],
    /// Sleepers by kind.
    asleep: [AtomicU32; KINDS.len()],
    waker: Waker,
}

/// Where `sleepers` lies, for entry/doacross.rs, which looks at its lower half: all that are inside, and
/// some of the others.
pub const SLEEPERS: usize = core::mem::offset_of!(Event, sleepers);

impl Event {
    /// Returns when `ready()` is true; sleeps, inside the region, when `patience` is at its end.
    pub(crate) fn wait(&self, patience: Patience, ready: impl FnMut() -> bool) {
        self.wait_as(Waiters::Inside, patience, ready);
    }

    /// [`Event::wait`] as one of `kind`: whoever makes the condition true must wake these.
    pub(crate) fn wait_as(&self, kind: Waiters, patience: Patience, mut ready: impl FnMut() -> bool) {
        if patience.stay(&mut ready) {
            return;
        }
        self.sleep(kind, patience, ready, || {
            full_fence();
            true
        });
    }

    /// [`Event::wait`] for a condition that others make true without a fence in front of their look at
    /// `sleepers`: `fence_all` has them pass one. If it says that it cannot, the caller stays awake.
    pub(crate) fn wait_unfenced(
        &self,
        patience: Patience,
        mut ready: impl FnMut() -> bool,
        fence_all: impl Fn() -> bool,
    ) {
        if !patience.stay(&mut ready) {
            self.sleep(Waiters::Inside, patience, ready, fence_all);
        }
    }

    /// Sleeps until `ready()` is true; looks again behind `fence` before it does. Unless that gives true it
    /// does not sleep at all.
    fn sleep(
        &self,
        kind: Waiters,
        patience: Patience,
        mut ready: impl FnMut() -> bool,
        fence: impl Fn() -> bool,
    ) {
        let (word, asleep) = (&self.seq[kind as usize], &self.asleep[kind as usize]);
        while !ready() {
            let seen = word.load(Relaxed);
            asleep.fetch_add(1, Relaxed);
            self.sleepers.fetch_add(kind.one(), Relaxed);
            let fenced = fence();
            if !ready() {
                if fenced {
                    death_watch::wait(word, seen);
                    self.waker.leave_cpu_to(patience);
                } else {
                    step_aside();
                }
            }
            self.sleepers.fetch_sub(kind.one(), Relaxed);
            asleep.fetch_sub(1, Relaxed);
        }
    }

    /// Lets waiters look at their conditions again. Call after the condition has become true.
    #[inline]
    pub fn notify(&self) {
        full_fence();
        self.wake_sleepers();
    }

    /// The keeper, while nobody executes those who wait: they look at their conditions again when somebody
    /// does, and no host sleeps.
    pub(crate) fn notify_frozen(&self) {
        for word in &self.seq {
            word.fetch_add(1, Release);
        }
    }

    /// [`Event::notify`] for a condition that only waiters of `kind` have.
    #[inline]
    pub(crate) fn notify_only(&self, kind: Waiters) {
        full_fence();
        let sleepers = self.sleepers.load(Relaxed) & kind.mask();
        if sleepers != 0 {
            self.wake(sleepers);
        }
    }

    /// [`Event::notify_only`] if, where waiters of `kind` sleep, `concerns` them; asked behind the fence.
    #[inline]
    pub(crate) fn notify_if(&self, kind: Waiters, concerns: impl FnOnce() -> bool) {
        full_fence();
        let sleepers = self.sleepers.load(Relaxed) & kind.mask();
        if sleepers != 0 && concerns() {
            self.wake(sleepers);
        }
    }

    /// [`Event::notify`] behind the caller's own fence.
    #[inline]
    pub(crate) fn wake_sleepers(&self) {
        let sleepers = self.sleepers.load(Relaxed);
        if sleepers != 0 {
            self.wake(sleepers);
        }
    }

    /// A task has become ready. `looked_for`: does a helper look for tasks? Asked where some sleep.
    #[inline]
    pub(crate) fn notify_task(&self, looked_for: impl FnOnce() -> bool) {
        full_fence();
        if self.has_sleepers() {
            self.wake_for_task(looked_for);
        }
    }

    /// Does anybody sleep? (Behind the caller's own fence.)
    #[inline]
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Relaxed) != 0
    }

    #[cold]
    fn wake_for_task(&self, looked_for: impl FnOnce() -> bool) {
        // Those who wait in a task may execute this one only if it is below that.
        if self.sleeps(Waiters::Inside) {
            self.waker.is_here();
            self.wake_kind(Waiters::Inside, u32::MAX);
        }
        if !looked_for() {
            self.call_helper();
        }
    }

    /// Wakes one that helps, or rests.
    #[cold]
    pub(crate) fn call_helper(&self) {
        if let Some(kind) = [Waiters::Helping, Waiters::Resting].into_iter().find(|k| self.sleeps(*k)) {
            self.waker.is_here();
            self.wake_kind(kind, 1);
        }
    }

    fn sleeps(&self, kind: Waiters) -> bool {
        self.asleep[kind as usize].load(Relaxed) != 0
    }

    fn wake_kind(&self, kind: Waiters, most: u32) {
        let word = &self.seq[kind as usize];
        word.fetch_add(1, Release);
        futex::wake(word, most);
    }

    #[cold]
    fn wake(&self, sleepers: u64) {
        self.waker.is_here();
        for kind in KINDS {
            if sleepers & kind.mask() != 0 && self.sleeps(kind) {
                self.wake_kind(kind, u32::MAX);
            }
        }
    }
}
