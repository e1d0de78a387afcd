//! Regions and taskloops that go without save points: those that are so short that these take more than the
//! budget. What is measured: region_price.rs; how it is decided: price.rs.
//!
//! Compiled code asks in front of a region that it encounters. The answer goes with the region: all of its
//! threads have save points, or none has, since they deal out its loops by themselves, or do not. A region in
//! another goes by that one. That of a taskloop goes with its taskgroup: who executes a task of it has no
//! save points there.
//!
//! What goes without saves nothing, static loops are dealt out as GCC's code does it (work/equal_shares.rs),
//! and calls are as light as without fault tolerance. A failure in it is refused, with line and price.
//!
//! A thread stays as it was in its last region until the next one, also where it executes serial code, which
//! is never executed again. So regions that follow each other change nothing.

use super::price::{LENT, OFF, ON, OPEN, SELDOM, Site, again, of_reason, tried_again};
use super::region_price::RegionPrice;
use super::{SaveKind, cost_clock, proof, sample, unsaved_time, was_lost};
use crate::icv::globals;
use crate::icv::settings::Constructs;
use crate::observe::{self, event::Row, event::Set};
use crate::sys::own::Own;
use crate::team::{promises, team::Team, thread::Thread};
use crate::upward;
use crate::work::site;
use core::sync::atomic::Ordering::Relaxed;
use promp_settings::save_budget::Budget;

/// In what a region goes by: static loops are dealt out by its threads. No site's address has this bit.
const DEALT: usize = 1;
/// Who listens to these wants to know of loops, or has all calls go their usual ways.
const TOLD: Set = Set::of(&[Row::WorkBegin, Row::WorkEnd, Row::Chunk]).and(Set::LIGHT);

/// What is asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A region that is encountered outside of regions.
    Region,
    /// A taskloop in a region.
    Taskloop,
}

impl Kind {
    const BOTH: [Kind; 2] = [Kind::Region, Kind::Taskloop];
}

/// What is known of a thread's regions, or taskloops.
#[derive(Default)]
struct Asked {
    /// What the next one goes by.
    next: Own<usize>,
    price: RegionPrice,
}

/// What a thread goes by: 0, or the address of the site for whose reason it goes without, and [`DEALT`].
#[derive(Default)]
pub(crate) struct Regions {
    /// Is anything of it not as it is where nobody goes without, as far as regions look at it?
    busy: Own<bool>,
    /// In the region that it is in, or was in last; in the task.
    now: Own<usize>,
    regions: Asked,
    taskloops: Asked,
}

impl Regions {
    /// Is there anything to think of where a region begins or ends?
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// Something has changed.
    fn settle(&self) {
        let asked = &self.regions;
        self.busy.set(self.now.get() != 0 || asked.next.get() != 0 || asked.price.is_on());
    }

    /// What the region goes by that begins; `inside` another one.
    fn of_next(&self, inside: bool) -> usize {
        let next = self.regions.next.get();
        if next == 0 {
            return if inside { self.now.get() } else { 0 };
        }
        self.regions.next.set(0);
        next
    }

    /// What the taskloop goes by that begins.
    #[inline(always)]
    pub(crate) fn of_taskloop(&self) -> usize {
        match self.taskloops.next.get() {
            0 => self.now.get(),
            next => {
                self.taskloops.next.set(0);
                next
            }
        }
    }

    /// It has no iterations: it tells nothing.
    pub(crate) fn leave_out_taskloop(&self) {
        self.taskloops.price.leave_out();
    }

    /// What it goes by where it is now.
    #[inline(always)]
    pub(crate) fn now(&self) -> usize {
        self.now.get()
    }

    /// Is one measured?
    #[inline(always)]
    pub(crate) fn is_measured(&self, kind: Kind) -> bool {
        self.asked(kind).price.is_on()
    }

    #[inline(always)]
    fn asked(&self, kind: Kind) -> &Asked {
        if kind == Kind::Region { &self.regions } else { &self.taskloops }
    }

    /// Does the thread go without save points?
    #[inline(always)]
    pub(crate) fn is_without(&self) -> bool {
        self.now.get() != 0
    }

    /// ... and does it deal out static loops by itself?
    #[inline(always)]
    pub(crate) fn deals(&self) -> bool {
        self.now.get() & DEALT != 0
    }
}

impl Thread {
    /// It is about to encounter a region, or a taskloop (`tasks`): does that go without save points?
    pub fn asks_of_points(&'static self, site: &'static Site, tasks: bool) {
        let (all, kind) = (&self.gauge.regions, if tasks { Kind::Taskloop } else { Kind::Region });
        if self.is_in_region() != tasks || !(self.saving.get() || all.is_without()) {
            return;
        }
        // Tasks of one in what goes without do, too.
        let without = !(tasks && all.is_without()) && goes_without(self, site, kind);
        let word = if without { core::ptr::from_ref(site).addr() | deals(self) } else { 0 };
        all.asked(kind).next.set(word);
        all.settle();
    }
}

/// What the user vouches for, and what is verified, needs save points; the tuner has its own measurements.
fn goes_without(thr: &'static Thread, site: &'static Site, kind: Kind) -> bool {
    if !proof::is_proved(thr) || sample::is_on() || globals().promp.constructs == Constructs::Tuned {
        return false;
    }
    let at = core::ptr::from_ref(site).addr();
    let price = &thr.gauge.regions.asked(kind).price;
    match site.state.load(Relaxed) {
        OFF | SELDOM if !tried_again(site, OPEN) => {
            if thr.gauge.counts_visit() {
                price.start(at, now(thr));
            }
            true
        }
        OFF | SELDOM => {
            price.forget(at);
            price.begin(at, now(thr), true)
        }
        OPEN | LENT => {
            let (budget, _) = site.budget();
            price.begin(at, now(thr), budget != Budget::DEFAULT) && budget != Budget::Unlimited
        }
        ON => {
            if thr.gauge.counts_visit() && thr.gauge.measures_again() {
                again(site);
            }
            false
        }
        _ => false,
    }
}

/// By the clock and by the thread's save points; all threads of its team are taken to pass as many.
fn now(thr: &'static Thread) -> (u64, u64) {
    (cost_clock::ticks(), thr.save.passed.get().wrapping_mul(thr.team().size().into()))
}

/// [`DEALT`], unless somebody wants to know of loops, or something was said of the next one.
fn deals(thr: &'static Thread) -> usize {
    let said = (thr.recompute.get(), thr.fragments.get()) != (0, 0);
    let looks = observe::wants(TOLD) || site::keeps_accounts() || globals().cancellation;
    if said || looks { 0 } else { DEALT }
}

/// `thr`, which is busy with such things, begins a region with `team`, which nobody is in: what that goes by.
#[cold]
pub(crate) fn begin(thr: &'static Thread, team: &'static Team, inside: bool) {
    team.begins.without.update(thr.gauge.regions.of_next(inside));
}

/// `thr` goes by `word` from here on, in a region or a task: either this is not 0, or what it went by.
#[inline(never)]
pub(crate) fn enter(thr: &'static Thread, word: usize) {
    if thr.gauge.regions.now.get() != word {
        change(thr, word);
    }
    // What is measured is not accounted for: that would take longer than what is left out.
    if word != 0 && !Kind::BOTH.into_iter().any(|kind| thr.gauge.regions.is_measured(kind)) {
        unsaved_time::begins(thr);
    }
}

/// It executes nothing of the program's now.
#[cold]
fn change(thr: &'static Thread, word: usize) {
    super::settle(thr);
    thr.undo.clear(|why| was_lost(thr, why));
    thr.gauge.regions.now.set(word);
    promises::settle_saving(thr);
    if word != 0 {
        // Up to the next change there is no save point that would clear the log, and no way back.
        thr.save.put(SaveKind::None, 0, (0, 0));
        thr.undo.goes_without(word & !DEALT);
    }
    thr.gauge.regions.settle();
}

/// `thr` has ended its part of a region.
#[cold]
pub(crate) fn leave(thr: &'static Thread) {
    if site::keeps_accounts() && thr.gauge.regions.is_without() {
        unsaved_time::ends(thr, thr.undo.lost());
    }
}

/// ... and the region, of which it is the primary thread: it may go on dealing loops out.
#[cold]
pub(crate) fn finish(thr: &'static Thread) {
    leave(thr);
    if thr.gauge.regions.deals() {
        thr.light.set(thr.light.get() | upward::DEALT);
    }
    if thr.gauge.regions.is_measured(Kind::Region) {
        ended(thr, Kind::Region, thr.gauge.regions.is_without());
    }
    thr.gauge.regions.settle();
}

/// What is measured has ended, or a region in it. It went `without`, or did not.
#[cold]
pub(crate) fn ended(thr: &'static Thread, kind: Kind, without: bool) {
    if kind == Kind::Region && thr.is_in_region() {
        return;
    }
    if let Some(told) = thr.gauge.regions.asked(kind).price.end(now(thr), without)
        && let Some(site) = of_reason(told.site)
    {
        let (cost, time) = told.price;
        // All of the program waits for that.
        site.learn(cost, time, told.took, 1);
    }
}
