//! How the members of a team meet: barriers, and waiting for the ends of loops and regions, where they
//! execute the team's tasks meanwhile.

use super::barrier_way::Way;
use super::event_count::{Patience, Waiters};
use super::team::Team;
use super::thread::Thread;
use crate::observe::event::{Event, Sync};
use crate::task::lightness::lighten;
use crate::task::list::Scope;

/// How many rounds a waiting member waits between two looks at the end itself, because who is to tell it
/// may have lost its CPU. (With more threads than CPUs it most likely has.)
const SELDOM: u32 = 16;

/// Listeners have come while `thr`, the only thread there is, was in serial code.
pub fn listeners_came(thr: &'static Thread) {
    let team = thr.team();
    team.way.set(Way::of(team.size()));
    thr.unprepare();
    lighten(thr);
}

impl Team {
    /// The team barrier for `thr`, as synchronisation `sync`; `thr` executes tasks while it waits. Returns
    /// false if the region was cancelled while (or before) it waited and `cancellable` is set.
    #[inline(always)]
    pub fn synchronise(&'static self, thr: &'static Thread, sync: Sync, cancellable: bool) -> bool {
        match self.way.get() {
            Way::Told => self.tell_barrier(thr, sync, cancellable),
            way => self.barrier(way, thr, cancellable),
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_barrier(&'static self, thr: &'static Thread, sync: Sync, cancellable: bool) -> bool {
        thr.tell(Event::SyncArrive { sync });
        let passed = self.barrier(Way::by_number(self.size()), thr, cancellable);
        thr.tell(Event::SyncLeave { sync });
        passed
    }

    #[inline(always)]
    fn barrier(&'static self, way: Way, thr: &'static Thread, cancellable: bool) -> bool {
        if cancellable && self.is_cancelled() {
            return false;
        }
        match way {
            Way::Alone if self.tasks.idle(self) => true,
            Way::Pair => self.meet(thr, cancellable).unwrap_or_else(|| self.gather(thr, cancellable)),
            _ => self.gather(thr, cancellable),
        }
    }

    /// The barrier of two members; `None`: they go on to the one that waits for tasks.
    #[inline(never)]
    fn meet(&'static self, thr: &'static Thread, cancellable: bool) -> Option<bool> {
        let m = thr.member();
        let (me, round, busy) =
            (m.num.get() as usize, m.barriers.pairs.get() + 1, self.tasks.has_been_used());
        m.barriers.pairs.set(round);
        self.barrier.tell(me, round, busy);
        let met = || self.barrier.is_met(me, round);
        let stop = || cancellable && self.is_cancelled();
        let patience = self.patience.get();
        // Only one that has come before can be asleep, and its note is there then. So the fence of the
        // notice comes when the lines have crossed: before, it would wait for the own line's way.
        let awake = patience.stay(|| met() || stop() || self.tasks.has_been_used());
        self.event.notify_only(Waiters::Inside);
        if !met() {
            self.wait_at_end(thr, Waiters::Helping, patience.after(awake), || met() || stop());
        }
        if !met() {
            return Some(false);
        }
        if self.barrier.goes_on(me, round, busy) { None } else { Some(true) }
    }

    /// The barrier of any number.
    #[inline(never)]
    fn gather(&'static self, thr: &'static Thread, cancellable: bool) -> bool {
        let m = thr.member();
        let round = m.barriers.gathered.get().wrapping_add(1);
        m.barriers.gathered.set(round);
        let a = self.barrier.arrive(m.num.get(), round);
        let stop = || cancellable && self.is_cancelled();
        // The last one holds the round until all tasks are done: it executes them like everybody else.
        let over = || stop() || if a.last { self.tasks.idle(self) } else { self.barrier.passed_by_all(a) };
        let patience = self.patience.get();
        let mut looks = 0u32;
        // Until somebody makes a task there is nothing else to look at.
        let awake = patience.stay(|| {
            looks = looks.wrapping_add(1);
            (!a.last && self.barrier.passed(a))
                || ((a.last || patience.crowded || looks.is_multiple_of(SELDOM)) && over())
                || stop()
                || self.tasks.has_been_used()
        });
        if !(awake && !a.last && self.barrier.passed(a)) {
            self.wait_at_end(thr, Waiters::Helping, patience.after(awake), over);
        }
        if stop() && !self.barrier.passed_by_all(a) {
            return false;
        }
        if a.last {
            self.barrier.release(a);
        }
        self.barrier.pass_on(a);
        if a.last {
            self.event.notify_only(Waiters::Inside);
        }
        true
    }

    /// Waits at the end of a piece of the region until `done`, as one of `kind`, executing any of the
    /// team's tasks meanwhile.
    pub(crate) fn wait_at_end(
        &'static self,
        thr: &'static Thread,
        kind: Waiters,
        patience: Patience,
        done: impl Fn() -> bool,
    ) {
        let scope = Scope::Any(thr.member().epoch.get());
        let mut worked = false;
        while !done() {
            if self.tasks.run_one(thr, scope) {
                worked = true;
                continue;
            }
            if worked {
                // Somebody may wait for these to be the last tasks.
                worked = false;
                self.event.notify_only(Waiters::Inside);
                continue;
            }
            self.tasks.wait(thr, kind, patience, scope, &done);
        }
    }
}
