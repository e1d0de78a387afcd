//! How a region's order comes to its workers, and their ends to the primary thread: by a tree.
//!
//! **Tree.** Members stand in groups of four, each led by its first; the leaders in groups of four, and so on
//! up to the primary thread, which is member 0. Who has got the order hands it to those whom it leads
//! ([`led`]), the leaders of the largest groups first, before it does anything else. A team of up to [`FEW`]
//! is one group: there the primary thread alone hands out.
//!
//! **Dock.** A worker waits at its dock for whoever calls it: a team's primary thread, a member that leads
//! it, the pool, which dismisses it. Orders are written into the dock one at a time, and counted (`go`,
//! release; the worker loads it with acquire): each of a worker's orders comes there exactly once, and before
//! its region has ended.
//!
//! **Nobody waits for a member who only passes things on**: it may sleep, or its CPU may compute something
//! else. So the primary thread publishes the order in the team's [`Call`] first, and a worker that waits
//! looks there now and then, always before it sleeps, and takes the order from there if it is a newer one of
//! its *crew*. A crew is the same workers as the same members; when one comes or goes it has a new number.
//! The first region of a crew is ordered by the primary thread alone, which tells the workers the number.
//! So a newer order of a worker's crew is meant for it, and its region cannot end without it: nothing that
//! stands there can change while it is read.
//!
//! States of a worker that has taken k orders: `go` is k (none has come), k + 1 (the next one has come), or
//! k − 1 (it has taken the last one from the call, and its leader has not come to it yet, which it does
//! before that region ends). Only the first two occur while no region of the worker's is under way, which is
//! when it sleeps here, or others than its leaders call it.
//!
//! **Sleepers.** Before it sleeps a worker sets `sleeping` and then the call's `drowsy`, passes a
//! sequentially consistent fence and looks at both places again; it sleeps on `sleeping`, not on `go`, since
//! its leader may come later than who wakes it. The primary thread publishes, passes such a fence and looks
//! at `drowsy`: if it is set, it clears it and wakes every worker whose `sleeping` is set. One of the two
//! fences comes first: either the worker sees the order, or the primary thread sees both words. (A mark
//! that is cleared after the fence and set before is one of a worker that sees the order.) Where there is no
//! tree the primary thread looks at each worker's `sleeping` instead. Leaders wake nobody.
//!
//! **Ends.** A member that has come to the region's end says so in `done` (release). If those whom it leads
//! have come, too, each with all below it, it says so in `below`. The primary thread looks at `below` of
//! those whom it leads, and now and then, always before it sleeps, at all members' `done`; so nobody is
//! waited for here either who only passes things on. Both words only grow: each has one writer, who begins
//! no region before the last one has ended.
//!
//! Before the primary thread sleeps it says whom it waits for ([`Awaited`]), passes a sequentially consistent
//! fence and looks whether that member has come. A member that has come passes such a fence and wakes the
//! primary thread only if it is the one that is awaited. One of the two fences comes first: either the
//! primary thread sees that it has come, or the member sees its number and the sleeper (event_count.rs). The
//! one that is awaited is the last one of those that have not come: where thousands come one after the other,
//! each woke it to look for the next.
//!
//! **Failing members.** What a member passes on, it passes on in the runtime, where a stop waits. Its end is
//! its logical thread's: another host comes to it. Models: tests/loom/src/regions.rs.

use super::cpu_spread::Waker;
use super::event_count::Patience;
use crate::sys::own::Own;
use crate::sys::sync::{AtomicU32, AtomicU64, Ordering::*, fetch_to_write, full_fence, touch};
use crate::sys::{death_watch, futex};
use core::cell::Cell;
use crossbeam_utils::CachePadded;

/// How members are grouped: by how many bits their numbers become shorter from level to level.
const BY: u32 = 2;
/// So many are one group.
pub(crate) const FEW: u32 = 1 << BY;
/// How many rounds one that waits lets go by between two looks at what others than those next to it say.
pub(crate) const SELDOM: u32 = 64;

/// The members that member `i` of `n` leads, those who lead the smallest groups first.
pub(crate) fn led(i: u32, n: u32) -> impl DoubleEndedIterator<Item = u32> {
    let of_tree = (n - i).saturating_sub(1).checked_ilog2().map_or(0, |log| log / BY + 1);
    let of_member = if i == 0 { u32::BITS } else { i.trailing_zeros() / BY };
    (0..of_tree.min(of_member))
        .flat_map(move |level| (1..FEW).map(move |k| i + (k << (BY * level))))
        .filter(move |&m| m < n)
}

/// Where a worker waits for its next region: see the module's text.
pub(crate) struct Dock<O: Copy> {
    go: AtomicU32,
    sleeping: AtomicU32,
    /// Who created or woke the worker last.
    waker: Waker,
    order: Own<Option<O>>,
}

impl<O: Copy> Default for Dock<O> {
    fn default() -> Self {
        Self {
            go: AtomicU32::new(0),
            sleeping: AtomicU32::new(0),
            waker: Waker::default(),
            order: Own::new(None),
        }
    }
}

impl<O: Copy> Dock<O> {
    /// An order will be handed over soon.
    #[inline(always)]
    pub(crate) fn expect(&self) {
        fetch_to_write(&self.go);
    }

    /// Hands the worker its order; `None` tells it to end. Whoever may find it asleep follows with
    /// [`Dock::wake`] after a full fence.
    #[inline]
    pub(crate) fn post(&self, order: Option<O>) {
        touch(&self.go);
        self.order.set(order);
        self.go.store(self.go.load(Relaxed).wrapping_add(1), Release);
    }

    /// Wakes the worker if it sleeps.
    #[inline]
    pub(crate) fn wake(&self) {
        if self.sleeping.load(Relaxed) != 0 {
            self.waker.is_here();
            self.sleeping.store(0, Relaxed);
            futex::wake(&self.sleeping, 1);
        }
    }

    /// Where its creator is, and who wakes it.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Worker: has an order come since `seen` of them?
    #[inline]
    pub(crate) fn called(&self, seen: u32) -> bool {
        touch(&self.go);
        self.go.load(Acquire).wrapping_sub(seen).cast_signed() > 0
    }

    /// The keeper, while nobody executes the worker: it ends when it looks again, and no host sleeps.
    pub(crate) fn dismiss_frozen(&self) {
        self.post(None);
        self.sleeping.store(0, Relaxed);
    }

    /// The pool: tells the worker to end.
    pub(crate) fn dismiss(&self) {
        self.post(None);
        full_fence();
        self.wake();
    }

    /// Worker: waits for an order after `seen` of them; `None` tells it to end. `ahead` looks at the call of
    /// the team that it belongs to, if any, and `drowse` sets its mark ([`Call::newer`], [`Call::drowse`]).
    #[inline]
    pub(crate) fn wait(
        &self,
        seen: u32,
        patience: impl FnOnce() -> Patience,
        ahead: impl Fn() -> Option<O>,
        drowse: impl Fn(),
    ) -> Option<O> {
        if self.called(seen) { self.order.get() } else { self.wait_longer(seen, patience(), ahead, drowse) }
    }

    #[cold]
    #[inline(never)]
    fn wait_longer(
        &self,
        seen: u32,
        patience: Patience,
        ahead: impl Fn() -> Option<O>,
        drowse: impl Fn(),
    ) -> Option<O> {
        let mut found = None;
        let mut is_called = |far: bool| {
            self.called(seen)
                || far && {
                    found = ahead();
                    found.is_some()
                }
        };
        let mut looks = 0u32;
        let mut awake = patience.stay(|| {
            looks = looks.wrapping_add(1);
            is_called(patience.crowded || looks.is_multiple_of(SELDOM))
        });
        while !awake {
            self.sleeping.store(1, Relaxed);
            drowse();
            full_fence();
            awake = is_called(true);
            if !awake {
                death_watch::wait(&self.sleeping, 1);
                self.waker.leave_cpu_to(patience);
            }
        }
        self.sleeping.store(0, Relaxed);
        if found.is_some() { found } else { self.order.get() }
    }
}

/// What a team's primary thread calls its workers for, and the last region that has ended completely: in one
/// line, which workers that wait look at now and then.
pub(crate) struct Call<W: Copy> {
    epoch: AtomicU64,
    ended: AtomicU64,
    crew: AtomicU32,
    drowsy: AtomicU32,
    what: Own<Option<W>>,
}

impl<W: Copy> Default for Call<W> {
    fn default() -> Self {
        Self {
            epoch: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            crew: AtomicU32::new(0),
            drowsy: AtomicU32::new(0),
            what: Own::new(None),
        }
    }
}

impl<W: Copy> Call<W> {
    /// Primary: calls `crew`, whose workers know their number, for region `epoch`.
    pub(crate) fn publish(&self, epoch: u64, crew: u32, what: W) {
        touch(&self.epoch);
        self.what.set(Some(what));
        self.crew.store(crew, Relaxed);
        self.epoch.store(epoch, Release);
    }

    /// Worker of `crew`, whose last region of the team was `epoch`: is it called for a newer one?
    pub(crate) fn newer(&self, epoch: u64, crew: u32) -> Option<(u64, W)> {
        touch(&self.epoch);
        let now = self.epoch.load(Acquire);
        if now <= epoch || self.crew.load(Relaxed) != crew {
            return None;
        }
        Some((now, self.what.get()?))
    }

    /// Primary: region `epoch` has ended (release).
    #[inline(always)]
    pub(crate) fn end(&self, epoch: u64) {
        self.ended.store(epoch, Release);
    }

    /// Has it?
    #[inline(always)]
    pub(crate) fn has_ended(&self, epoch: u64) -> bool {
        self.ended.load(Acquire) >= epoch
    }

    /// Worker: is about to sleep.
    pub(crate) fn drowse(&self) {
        self.drowsy.store(1, Relaxed);
    }

    /// Primary, behind the fence that follows [`Call::publish`]: may a worker sleep? The mark is taken away:
    /// all must be looked at.
    #[inline]
    pub(crate) fn is_drowsy(&self) -> bool {
        let yes = self.drowsy.load(Relaxed) != 0;
        if yes {
            self.drowsy.store(0, Relaxed);
        }
        yes
    }
}

/// The last region that a member has come to the end of, and the last one that all below it have, too: on two
/// lines, since others look at the second all the time.
#[derive(Default)]
pub(crate) struct End {
    done: CachePadded<AtomicU64>,
    below: CachePadded<AtomicU64>,
}

impl End {
    /// The member is about to.
    #[inline(always)]
    pub(crate) fn expect(&self) {
        fetch_to_write(&self.done);
    }

    /// The same of [`End::pass_up`].
    pub(crate) fn expect_to_pass_up(&self) {
        fetch_to_write(&self.below);
    }

    /// It has come to the end of region `epoch`.
    #[inline(always)]
    pub(crate) fn come(&self, epoch: u64) {
        touch(&self.done);
        self.done.store(epoch, Release);
    }

    /// Has it?
    #[inline(always)]
    pub(crate) fn has_come(&self, epoch: u64) -> bool {
        touch(&self.done);
        self.done.load(Acquire) >= epoch
    }

    /// So have all below it, which the caller has seen.
    pub(crate) fn pass_up(&self, epoch: u64) {
        touch(&self.below);
        self.below.store(epoch, Release);
    }

    /// Has it come, and all below it?
    pub(crate) fn has_passed_up(&self, epoch: u64) -> bool {
        touch(&self.below);
        self.below.load(Acquire) >= epoch
    }
}

/// The member that a primary thread waits for which sleeps at its region's end. Written by that thread alone.
#[derive(Default)]
pub(crate) struct Awaited(AtomicU32);

impl Awaited {
    /// Primary, which is about to sleep, or has been woken: have all come? Of those behind `left` that is
    /// known.
    pub(crate) fn have_come(&self, left: &Cell<u32>, has_come: impl Fn(u32) -> bool) -> bool {
        loop {
            while left.get() > 0 && has_come(left.get()) {
                left.set(left.get() - 1);
            }
            match left.get() {
                0 => return true,
                i if self.0.load(Relaxed) == i => return false,
                i => self.0.store(i, Relaxed),
            }
            full_fence();
        }
    }

    /// A member that has come, behind a fence: is it the one?
    pub(crate) fn is(&self, me: u32) -> bool {
        self.0.load(Relaxed) == me
    }
}
