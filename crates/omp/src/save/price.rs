//! Is saving old values worth its price? Decided where the program runs, by what it takes.
//!
//! promp-cc compiles a loop that needs old values twice: with the saving, and as GCC would compile it. In
//! front of it, it asks [`begin`], once a chunk, with the loop's *site*. At first the answer is yes, and
//! the time that saving takes is measured (gauge.rs) against the time of the loop without it.
//! As soon as both are long enough to tell, the site is decided: where saving takes more than the budget
//! (PROMP_SAVE_BUDGET), the loop goes on in its other version, in the middle, too, and its work counts as
//! work that cannot be executed again ([`Log::lose`]). Sites that save are looked at again from time to
//! time, since a loop that waits for memory to be mapped hides any price; those that do not are tried
//! again, ever more rarely.
//!
//! The word of a site is read by compiled code: 2 ([`OFF`]) makes it leave. Others may change it at any
//! time (Relaxed: it decides what is saved, and never what is true of the log).

use super::{SaveKind, credit, pace, proof, sample, unsaved_time};
use crate::task::included;
use crate::team::thread::Thread;
use crate::undo::{self, Log};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use promp_settings::save_budget::{Budget, DEAR, ENOUGH};

/// What compiled code keeps for a loop, or for something that cannot be executed twice
/// (plugin/src/segments/sites.cc).
#[repr(C)]
pub struct Site {
    state: AtomicU32,
    /// Times that its question was answered by no since it was last tried.
    since: AtomicU32,
    cost: AtomicU64,
    time: AtomicU64,
    /// "file:line: what", a C string.
    text: usize,
}

/// Not known yet: save and measure.
const OPEN: u32 = 0;
/// Save.
pub(super) const ON: u32 = 1;
/// Do not save: what follows cannot be executed again.
const OFF: u32 = 2;
/// Something follows that cannot be executed twice; behind it comes a save point.
const OPAQUE: u32 = 3;
/// Save, whatever it costs.
const ALWAYS: u32 = 4;
/// Like [`OFF`], with PROMP_SDC=chunks: chunks that are to be verified save all the same. Compiled code does
/// not leave because of it.
const SELDOM: u32 = 7;
/// In a loop that waits: there is always a save point behind it, which costs nobody's time. What only reads
/// there has no mark in front of it.
const WAITS: u32 = 5;
/// Like [`OPAQUE`], but executed so often that save points behind it would cost too much: there are none.
const CROWDED: u32 = 6;
/// Like [`OPEN`], where it is known that saving takes more than the budget, but not more in all than it may
/// before that counts (credit.rs).
const LENT: u32 = 8;
/// Private data that is not copied (mod.rs).
const PRIVATE: u32 = 9;

/// Times until one that does not is tried again, the first time.
const RETRY: u32 = 256;
/// Save points are counted anew after so much time of all threads.
const EPOCH: u64 = 1 << 26;
/// What a call costs beside what it measures of itself, in ticks: its arguments, and registers that the
/// loop has to give up.
pub(super) const CALL: u64 = 12;

impl Site {
    /// One of no loop.
    pub(super) const fn new(state: u32) -> Site {
        Site {
            state: AtomicU32::new(state),
            since: AtomicU32::new(0),
            cost: AtomicU64::new(0),
            time: AtomicU64::new(0),
            text: 0,
        }
    }

    /// One of private data that is not copied; `text` says where and how much.
    pub(super) fn of_private(text: &'static core::ffi::CStr) -> Site {
        Site { text: text.as_ptr() as usize, ..Site::new(PRIVATE) }
    }

    /// Saving would take `cost` of `time`.
    pub(super) fn would_take(&self, (cost, time): (u64, u64)) {
        self.cost.store(cost, Relaxed);
        self.time.store(time, Relaxed);
    }

    /// Why what follows cannot be executed again.
    pub fn text(&self) -> &'static str {
        if self.text == 0 {
            let memory = core::ptr::eq(self, &raw const NO_MEMORY);
            return if memory { "?: operator new found no memory" } else { "" };
        }
        // SAFETY: a text in the object's constant data.
        unsafe { core::ffi::CStr::from_ptr(self.text as *const libc::c_char) }.to_str().unwrap_or("?")
    }

    /// Is it something that cannot be executed twice (or saving that costs too much)?
    pub fn is_opaque(&self) -> bool {
        is_opaque(self.state.load(Relaxed))
    }

    /// Is it private data that is not copied? Then no verdict helps.
    pub(crate) fn is_private(&self) -> bool {
        self.state.load(Relaxed) == PRIVATE
    }

    /// Are its old values not saved, because that takes too much?
    pub(crate) fn has_stopped(&self) -> bool {
        matches!(self.state.load(Relaxed), OFF | SELDOM)
    }

    /// Is it a loop whose iterations wait for each other (the plugin's undo/waits.cc has the text)?
    pub fn is_across(&self) -> bool {
        self.text().ends_with(": save points where iterations wait for each other")
    }

    /// What saving takes, in percent of the loop's time without it.
    pub fn percent(&self) -> f64 {
        self.cost.load(Relaxed) as f64 * 100.0 / self.time.load(Relaxed).max(1) as f64
    }

    /// Adds what one visit has shown, and decides. `took`: what saving has taken of the time of one of
    /// `width` threads (credit.rs).
    pub(super) fn learn(&self, added: u64, time: u64, took: u64, width: u32) {
        let cost = self.cost.fetch_add(added, Relaxed) + added;
        let time = self.time.fetch_add(time, Relaxed) + time;
        let budget = crate::icv::save_budget();
        let credited = credit::covers(took, width, budget);
        let state = match decide(cost, time, budget) {
            OFF if credited => LENT,
            OFF if sample::is_on() => SELDOM,
            state => state,
        };
        if state != OPEN && matches!(self.state.load(Relaxed), OPEN | LENT | ON) {
            self.state.store(state, Relaxed);
        }
    }
}

fn is_opaque(state: u32) -> bool {
    matches!(state, OPAQUE | WAITS | CROWDED)
}

/// What a site is to do after saving has taken `cost` ticks, and the rest `time`.
fn decide(cost: u64, time: u64, budget: Budget) -> u32 {
    budget.affords(cost, time).map_or(OPEN, |yes| if yes { ON } else { OFF })
}

/// A loop that needs old values begins, or something that cannot be executed twice: are they to be saved?
/// 1: yes. The usual answers need no calls, so no registers are saved for them; the others are the last
/// thing that is done here, with this function's own result.
#[inline(always)]
pub fn begin(thr: &'static Thread, site: &'static Site) -> i32 {
    // Serial work is never executed again.
    if !thr.saving.get() || !thr.is_in_region() {
        return 0;
    }
    if thr.gauge.is_on() {
        return begin_measured(thr, site);
    }
    if thr.undo.lost() != 0 {
        return 0; // nothing will be executed again before the next save point
    }
    if site.state.load(Relaxed) == ON && !thr.gauge.counts_visit() {
        return 1;
    }
    ask(thr, site)
}

/// Where another site was measured until here.
#[inline(never)]
fn begin_measured(thr: &'static Thread, site: &'static Site) -> i32 {
    thr.gauge.settle();
    begin(thr, site)
}

/// What a site says that does not just save, or may have to be measured.
#[inline(never)]
fn ask(thr: &'static Thread, site: &'static Site) -> i32 {
    match site.state.load(Relaxed) {
        OPEN => thr.gauge.start(site, credit::width(thr)),
        LENT => thr.gauge.start_lent(site, credit::width(thr)),
        ON if !thr.gauge.measures_again() => {}
        ON => {
            again(site);
            thr.gauge.start(site, credit::width(thr));
        }
        OFF | SELDOM if tried_again(site, OPEN) => thr.gauge.start(site, credit::width(thr)),
        SELDOM if thr.watched.get() => {}
        OFF | SELDOM | OPAQUE | WAITS | CROWDED => {
            lose(thr, site);
            return 0;
        }
        state => debug_assert_eq!(state, ALWAYS),
    }
    1
}

/// A loop has left its version that saves, because the site's word was [`OFF`]. Whatever that says by now
/// (another thread may have had it tried again), old values are missing from here on.
#[cold]
pub fn leaves(thr: &'static Thread, site: &'static Site) {
    if !thr.saving.get() || !thr.is_in_region() {
        return;
    }
    thr.gauge.settle();
    if thr.undo.lost() == 0 {
        lose(thr, site);
    }
}

/// The work since the last save point cannot be executed again, because of `site`.
pub fn lose(thr: &'static Thread, site: &'static Site) {
    let at = core::ptr::from_ref(site) as usize;
    // Chunks that are verified need save points.
    if site.has_stopped() && !sample::is_on() {
        thr.undo.stop(at);
    } else {
        thr.undo.lose(at);
    }
    unsaved_time::begins(thr);
}

/// Behind something that cannot be executed twice, as the end of a runtime call: a save point, so that what
/// follows can be. Where none is needed, there is none; nor where they would cost more than the budget.
pub fn point(thr: &'static Thread, site: &'static Site) {
    let state = site.state.load(Relaxed);
    if thr.undo.lost() == 0 && state != WAITS {
        return; // it has not been executed, or there was a save point in it
    }
    match state {
        CROWDED if !tried_again(site, OPAQUE) => {}
        WAITS => super::point(thr, SaveKind::After(0)),
        _ => {
            let start = pace::ticks();
            super::point(thr, SaveKind::After(0));
            let now = pace::ticks();
            // An interruption is not the save point's.
            let cost = now.wrapping_sub(start).min(DEAR / 8) + CALL;
            let budget = crate::icv::save_budget();
            let credited = credit::covers(cost, credit::width(thr), budget);
            learn_points(site, cost, now, u64::from(thr.team().size()), budget, credited);
        }
    }
}

/// A loop begins whose iterations wait for each other: each wait and each post in it is a save point
/// ([`point_across`]). Are old values to be saved in it? If not, neither do these count, and the work is lost
/// up to the next save point of another kind.
pub fn begin_across(thr: &'static Thread, site: &'static Site) -> i32 {
    if !thr.saving.get() || !thr.is_in_region() {
        return 0;
    }
    thr.gauge.settle();
    if thr.gauge.across.is_on() {
        settle_across(thr);
    }
    // What the user vouches for, and what is verified, needs save points.
    let proved = proof::is_proved(thr) && !sample::is_on();
    if proved && site.has_stopped() && !tried_again(site, OPEN) {
        go_without(thr, site);
        return 0;
    }
    thr.undo.takes_points();
    let measured = match site.state.load(Relaxed) {
        OPEN | LENT => proved,
        ON if proved && thr.gauge.counts_visit() && thr.gauge.measures_again() => {
            again(site);
            true
        }
        _ => false,
    };
    if measured {
        thr.gauge.across.start(core::ptr::from_ref(site).addr(), pace::ticks());
    }
    1
}

fn go_without(thr: &'static Thread, site: &'static Site) {
    thr.undo.goes_without(core::ptr::from_ref(site).addr());
    included::lighten_across(thr, true);
    unsaved_time::begins(thr);
}

/// Waits by `wait`: that is not the loop's time.
#[inline(always)]
pub fn waiting(thr: &'static Thread, wait: impl FnOnce()) {
    if !thr.gauge.across.is_on() {
        return wait();
    }
    let start = pace::ticks();
    wait();
    thr.gauge.across.waited(pace::ticks().wrapping_sub(start));
}

/// The end of a call by which iterations wait for each other: a save point, unless these are left out.
#[inline(always)]
pub fn point_across(thr: &'static Thread) {
    if thr.saving.get() {
        save_across(thr);
    }
}

#[inline(never)]
fn save_across(thr: &'static Thread) {
    if thr.undo.is_without() {
        // It may have been found out anew what is light.
        return included::lighten_across(thr, true);
    }
    if !thr.gauge.across.is_due() {
        let measured = thr.gauge.across.pause();
        super::point(thr, SaveKind::After(0));
        return thr.gauge.across.resume(measured);
    }
    let (start, measured) = (pace::ticks(), thr.gauge.across.pause());
    super::point(thr, SaveKind::After(0));
    thr.gauge.across.resume(measured);
    let now = pace::ticks();
    // An interruption is not the save point's.
    let took = now.wrapping_sub(start).min(DEAR / 8) + CALL;
    if let Some(found) = thr.gauge.across.took(took, now)
        && let Some(site) = learn_across(thr, measured, found)
        && site.has_stopped()
    {
        thr.gauge.across.pause();
        go_without(thr, site);
    }
}

fn learn_across(thr: &'static Thread, measured: usize, (cost, time): (u64, u64)) -> Option<&'static Site> {
    let site = of_reason(measured)?;
    site.learn(cost, time, cost, credit::width(thr));
    Some(site)
}

/// The measurement of such a loop ends here, if there is one.
#[cold]
pub(super) fn settle_across(thr: &'static Thread) {
    let (measured, found) = thr.gauge.across.settle(pace::ticks());
    learn_across(thr, measured, found);
}

/// What save points behind a site cost is compared with the time of all threads since they began to be
/// counted.
fn learn_points(site: &Site, cost: u64, now: u64, threads: u64, budget: Budget, credited: bool) {
    let cost = site.cost.fetch_add(cost, Relaxed) + cost;
    let began = site.time.load(Relaxed);
    let time = now.saturating_sub(began) * threads;
    if began == 0 || time > EPOCH {
        // What was learned long ago does not count. Two threads at once: a cost is counted twice, or not.
        site.time.store(now, Relaxed);
        site.cost.store(0, Relaxed);
    } else if decide(cost, time, budget) == OFF && !credited {
        site.state.store(CROWDED, Relaxed);
    }
}

/// A site that saves is to be decided once more. However long it was measured, that counts as half of what is
/// needed: visits are short, and what was wrong, or has changed, would be believed for ever.
fn again(site: &Site) {
    let (cost, time) = (site.cost.load(Relaxed), site.time.load(Relaxed));
    if time > ENOUGH / 2 {
        site.cost.store(cost.saturating_mul(ENOUGH / 2) / time, Relaxed);
        site.time.store(ENOUGH / 2, Relaxed);
    }
    // Another thread may have decided meanwhile.
    let _ = site.state.compare_exchange(ON, OPEN, Relaxed, Relaxed);
}

/// Is it time to try a site again that does not save? Twice as rarely after each time. It gets `state`.
fn tried_again(site: &Site, state: u32) -> bool {
    let n = site.since.load(Relaxed).wrapping_add(1);
    site.since.store(n, Relaxed);
    if n < RETRY || !n.is_power_of_two() {
        return false;
    }
    for word in [&site.cost, &site.time] {
        word.store(0, Relaxed);
    }
    site.state.store(state, Relaxed);
    true
}

/// What cannot be kept in a log.
pub static TOO_MUCH: Site = Site::new(OFF);

/// There was no memory for a log.
pub static NO_ROOM: Site = Site::new(OFF);

/// There was no memory left (entry/heap.rs).
pub static NO_MEMORY: Site = Site::new(OPAQUE);

/// The site that made `log` useless.
pub fn culprit(log: &Log) -> Option<&'static Site> {
    of_reason(log.lost())
}

/// The site that a log has as the reason `why`.
pub(super) fn of_reason(why: usize) -> Option<&'static Site> {
    match why {
        0 => None,
        undo::TOO_MUCH => Some(&TOO_MUCH),
        undo::NO_ROOM => Some(&NO_ROOM),
        // SAFETY: the address of a static site; no object is unloaded while its work is in flight.
        at => Some(unsafe { &*(at as *const Site) }),
    }
}

const _: () = assert!(size_of::<Site>() == 32 && size_of::<AtomicUsize>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn save_points_that_crowd_the_program_are_given_up() {
        let site = Site::new;
        let (share, budget) = (0.05, Budget::Share(0.05));
        let after = |every: u64, threads: u64| {
            let s = site(OPAQUE);
            for n in 1..2 * ENOUGH / every {
                learn_points(&s, 100, 1000 + n * every, threads, budget, false);
            }
            s.state.load(Relaxed)
        };
        let rare = (110.0 / share) as u64;
        assert_eq!(after(rare, 1), OPAQUE);
        assert_eq!(after(rare / 2, 1), CROWDED);
        assert_eq!(after(rare / 2, 4), OPAQUE, "of four threads' time");
        assert!(site(CROWDED).is_opaque() && site(WAITS).is_opaque() && !site(OFF).is_opaque());
    }

    #[test]
    fn what_was_found_cheap_is_found_dear_when_it_has_become_so() {
        // 5 µs of a loop a visit, and as much for saving, after an hour in which it took nothing.
        let site = Site::new(ON);
        site.time.store(1 << 43, Relaxed);
        credit::is_over();
        again(&site);
        assert_eq!((site.state.load(Relaxed), site.time.load(Relaxed)), (OPEN, ENOUGH / 2));
        let visits = (0..100).take_while(|_| {
            site.learn(ENOUGH / 10, ENOUGH / 10, 0, 1);
            site.state.load(Relaxed) == OPEN
        });
        assert!(visits.count() < 6);
        assert_eq!(site.state.load(Relaxed), OFF);
    }

    #[test]
    fn what_costs_too_much_is_tried_ever_more_rarely() {
        let site = Site::new(OFF);
        site.cost.store(9, Relaxed);
        let tries: Vec<u32> = (1..=4 * RETRY).filter(|_| tried_again(&site, OPEN)).collect();
        assert_eq!(tries, [RETRY, 2 * RETRY, 4 * RETRY]);
        assert_eq!((site.state.load(Relaxed), site.cost.load(Relaxed)), (OPEN, 0));
    }
}
