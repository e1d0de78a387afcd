//! Is saving old values worth its price? Decided where the program runs, by what it takes.
//!
//! promp-cc compiles a loop that needs old values twice: with the saving, and as GCC would compile it. In
//! front of it, it asks (site_visits.rs), once a chunk, with the loop's *site*. At first the answer is yes,
//! and the time that saving takes is measured (gauge.rs) against the time of the loop without it.
//! As soon as both are long enough to tell, the site is decided: where saving takes more than the budget
//! (PROMP_SAVE_BUDGET), the loop goes on in its other version, in the middle, too, and its work counts as
//! work that cannot be executed again ([`Log::lose`]). Sites that save are looked at again from time to
//! time, since a loop that waits for memory to be mapped hides any price; those that do not are tried
//! again, ever more rarely.
//!
//! The word of a site is read by compiled code: 2 ([`OFF`]) makes it leave. Others may change it at any
//! time (Relaxed: it decides what is saved, and never what is true of the log).

use super::{credit, sample};
use crate::undo::{self, Log};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
pub(super) use promp_layouts::{
    SITE_ALWAYS as ALWAYS, SITE_CROWDED as CROWDED, SITE_LENT as LENT, SITE_OFF as OFF, SITE_ON as ON,
    SITE_OPAQUE as OPAQUE, SITE_OPEN as OPEN, SITE_PRIVATE as PRIVATE, SITE_SELDOM as SELDOM,
    SITE_WAITS as WAITS,
};
use promp_settings::save_budget::{Budget, COUNTED, ENOUGH, points_of};

/// What compiled code keeps for a loop, or for something that cannot be executed twice
/// (crates/layouts/src/save_sites.rs has the layout and the states).
#[repr(C)]
pub struct Site {
    pub(super) state: AtomicU32,
    /// Times that its question was answered by no since it was last tried ([`COUNTED`]); above these bits
    /// what -fpromp-budget says.
    since: AtomicU32,
    cost: AtomicU64,
    time: AtomicU64,
    /// "file:line: what", a C string.
    text: usize,
}

const _: () = assert!(size_of::<Site>() == 8 * promp_layouts::SITE_WORDS);

/// Times until one that does not is tried again, the first time, and at most.
const RETRY: u32 = 256;
const RAREST: u32 = COUNTED.div_ceil(2);
/// Save points are counted anew after so much time of all threads.
const EPOCH: u64 = 1 << 26;
/// Regions and taskloops whose save points take no more have them, whatever is said: so little is never worth
/// losing all of one.
const LEAST: f64 = 0.01;
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

    /// What saving may take, and whether -fpromp-budget says so. PROMP_SAVE_BUDGET has the last word.
    pub fn budget(&self) -> (Budget, bool) {
        match (crate::icv::set_save_budget(), Budget::of_word(self.since.load(Relaxed))) {
            (None, Some(compiled)) => (compiled, true),
            (set, _) => (set.unwrap_or_default(), false),
        }
    }

    /// Was it compiled to save nothing?
    pub(super) fn saves_nothing(&self) -> bool {
        self.budget() == (Budget::Share(0.0), true)
    }

    /// It does not save from here on.
    pub(super) fn stop(&self) {
        self.state.store(if sample::is_on() { SELDOM } else { OFF }, Relaxed);
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

    /// The work whose old values could not be kept, where it stands for that.
    pub fn unkept(&self) -> Option<&'static str> {
        [
            (&raw const TOO_MUCH, "work whose old values were too many to be saved"),
            (&raw const NO_ROOM, "work for whose old values there was no memory"),
        ]
        .into_iter()
        .find_map(|(site, what)| core::ptr::eq(self, site).then_some(what))
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

    /// Of what is it that save points are left out ([`points_of`])?
    pub(crate) fn points_of(&self) -> Option<&'static str> {
        points_of(self.text())
    }

    /// Are they left out of all of a region, or of a taskloop?
    pub(crate) fn is_of_all(&self) -> bool {
        self.points_of().is_some_and(|of| of != "loop")
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
        let budget = match self.budget().0 {
            Budget::Share(share) if self.is_of_all() => Budget::Share(share.max(LEAST)),
            budget => budget,
        };
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

/// What save points behind a site cost is compared with the time of all threads since they began to be
/// counted.
pub(super) fn learn_points(site: &Site, cost: u64, now: u64, threads: u64, budget: Budget, credited: bool) {
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
pub(super) fn again(site: &Site) {
    let (cost, time) = (site.cost.load(Relaxed), site.time.load(Relaxed));
    if time > ENOUGH / 2 {
        site.cost.store(cost.saturating_mul(ENOUGH / 2) / time, Relaxed);
        site.time.store(ENOUGH / 2, Relaxed);
    }
    // Another thread may have decided meanwhile.
    let _ = site.state.compare_exchange(ON, OPEN, Relaxed, Relaxed);
}

/// Is it time to try a site again that does not save? Twice as rarely after each time, up to one in
/// [`RAREST`]. It gets `state`.
pub(super) fn tried_again(site: &Site, state: u32) -> bool {
    let word = site.since.load(Relaxed);
    let n = match (word & COUNTED) + 1 {
        n if n > COUNTED => RAREST,
        n => n,
    };
    site.since.store(word & !COUNTED | n, Relaxed);
    if n < RETRY || !n.is_power_of_two() || site.saves_nothing() {
        return false;
    }
    for word in [&site.cost, &site.time] {
        word.store(0, Relaxed);
    }
    site.state.store(state, Relaxed);
    true
}

/// What cannot be kept in a log.
static TOO_MUCH: Site = Site::new(OFF);

/// There was no memory for a log.
static NO_ROOM: Site = Site::new(OFF);

/// There was no memory left (entry/heap_calls.rs).
pub(super) static NO_MEMORY: Site = Site::new(OPAQUE);

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
// Half a word behind the state: plugin/src/segments/sites.cc puts -fpromp-budget there.
const _: () = assert!(core::mem::offset_of!(Site, since) == 4);

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
        let rare: Vec<u32> = (1..=2 * RAREST).filter(|_| tried_again(&site, OPEN)).collect();
        assert_eq!(rare[rare.len() - 2..], [RAREST - 4 * RETRY, 2 * RAREST - 4 * RETRY], "{rare:?}");
    }

    #[test]
    fn a_site_counts_beside_its_budget() {
        let site = Site::new(OFF);
        site.since.store(Budget::Share(0.25).word(), Relaxed);
        let tries = (1..=8 * RAREST).filter(|_| tried_again(&site, OPEN)).count();
        // At 256 and its doubles up to RAREST, and seven times that often.
        assert_eq!((site.budget(), tries), ((Budget::Share(0.25), true), 17));
        site.since.store(Budget::Share(0.0).word(), Relaxed);
        assert!(site.saves_nothing() && (1..=2 * RETRY).all(|_| !tried_again(&site, OPEN)));
        assert!(!Site::new(OPEN).saves_nothing(), "the default");
    }
}
