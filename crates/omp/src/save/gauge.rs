//! What saving old values takes, measured: by a thread, of one site at a time (price.rs), from the time when
//! it comes to the site to the next site or save point.
//!
//! What an interrupted thread has measured does not count: the loop's time would be that of other programs,
//! too, and hide any price.

use super::across::Across;
use super::cost_clock;
use super::price::{CALL, Site};
use super::region_points::Regions;
use crate::sys::own::Own;
use crate::sys::time;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use promp_settings::save_budget::{DEAR, ENOUGH};

/// Visits of a thread until the site that is visited then is measured again, if it saves. A prime: loops that
/// follow each other in turn are each of them met.
const AGAIN: u32 = 61;
/// ... and ticks, at least: a millisecond or so.
const PAUSE: u64 = 3_000_000;
/// So many savings of a visit, or save points of a loop that waits, are measured, ...
pub(super) const FIRST: u32 = 16;
/// ... and then one in so many, in place of all of these; of sites that save too dearly, on credit, fewer.
pub(super) const ONE_IN: u32 = 8;
const LENT_ONE_IN: u32 = 32;
/// Of visits of these sites one in so many is measured, in place of all of these. A prime, as above.
const LENT_IN: u32 = 13;
/// ... and others from this saving on: no visit is long without being measured.
const SHORT: u32 = 64;
/// What beginning and ending a measurement takes, and a visit that is not measured.
const VISIT: u64 = 200;
const OTHER_VISIT: u64 = 30;
/// So many measurements in a row may be dropped because of interruptions.
const DROPPED: u32 = 3;

/// A thread's measurement of a site. The logical thread's own.
#[derive(Default)]
pub struct Gauge {
    /// Address of the site that is measured; 0: none.
    site: Own<usize>,
    /// Threads that have a CPU at the same time as this one (credit.rs).
    width: Own<u32>,
    began: Own<u64>,
    /// In saving, all told; ... and what counts of it.
    inside: Own<u64>,
    cost: Own<u64>,
    visits: Own<u32>,
    /// When a site that saves was last measured anew.
    again: Own<u64>,
    /// Visits on credit.
    lent: Own<u32>,
    /// [`ONE_IN`] or [`LENT_ONE_IN`].
    one_in: Own<u32>,
    /// So many visits what is measured stands for; 0: nothing is measured so far.
    stands_for: Own<u32>,
    /// Savings that have been measured since the measurement began, ...
    savings: Own<u32>,
    /// ... and those that go by before the next one is.
    pass: Own<u32>,
    /// How often the kernel thread had lost its CPU when that was looked at, and measurements that have been
    /// dropped because of it.
    switches: Own<u64>,
    dropped: Own<u32>,
    /// What save points cost where iterations wait for each other.
    pub(crate) across: Across,
    /// What save points cost in regions, and which go without.
    pub(crate) regions: Regions,
}

impl Gauge {
    /// Is a site measured?
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.site.get() != 0
    }

    /// One more visit of a site that saves: is it one behind which to ask [`Gauge::measures_again`]?
    #[inline(always)]
    pub(crate) fn counts_visit(&self) -> bool {
        let n = self.visits.get().wrapping_add(1);
        self.visits.set(n);
        n.is_multiple_of(AGAIN)
    }

    /// Is it time to measure a site that saves once more?
    pub(crate) fn measures_again(&self) -> bool {
        let now = cost_clock::ticks();
        let is_time = now.wrapping_sub(self.again.get()) > PAUSE;
        if is_time {
            self.again.set(now);
        }
        is_time
    }

    /// A measurement of `site` begins, by one of `width` threads that have a CPU.
    pub(crate) fn start(&self, site: &'static Site, width: u32) {
        self.width.set(width);
        self.one_in.set(ONE_IN);
        self.begin(1);
        self.site.set(core::ptr::from_ref(site) as usize);
    }

    /// The same, of a site that saves on credit: few visits are measured, unless they are long.
    pub(crate) fn start_lent(&self, site: &'static Site, width: u32) {
        let n = self.lent.get().wrapping_add(1);
        self.lent.set(n);
        self.width.set(width);
        self.one_in.set(LENT_ONE_IN);
        if n.is_multiple_of(LENT_IN) {
            self.begin(LENT_IN);
        } else {
            self.stands_for.set(0);
            self.pass.set(SHORT);
        }
        self.site.set(core::ptr::from_ref(site) as usize);
    }

    fn begin(&self, stands_for: u32) {
        self.stands_for.set(stands_for);
        self.inside.set(0);
        self.cost.set(0);
        self.savings.set(0);
        self.pass.set(0);
        self.began.set(cost_clock::ticks());
    }

    /// One more saving: is it one for [`Gauge::measured`]?
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.is_on() && self.counts_saving()
    }

    #[inline(always)]
    fn counts_saving(&self) -> bool {
        let n = self.pass.get();
        self.pass.set(n.saturating_sub(1));
        n == 0
    }

    /// The measurement ends here: at the next save point, or the next site.
    #[inline(always)]
    pub(crate) fn settle(&self) {
        if self.is_on() {
            self.fold();
            self.site.set(0);
        }
    }

    #[cold]
    fn fold(&self) {
        let stands_for = u64::from(self.stands_for.get());
        if stands_for == 0 {
            return;
        }
        let now = cost_clock::ticks();
        let inside = self.inside.get();
        let time = now.saturating_sub(self.began.get()).saturating_sub(inside);
        // SAFETY: the address of a site, which is static; libraries are not unloaded while a thread is in
        // their loops.
        let site = unsafe { &*(self.site.get() as *const Site) };
        let (cost, time) = if self.was_interrupted(time) { (0, 0) } else { (self.cost.get(), time) };
        // What interruptions have taken is not the saving's, here neither.
        let took = self.cost.get() * stands_for + VISIT + (stands_for - 1) * OTHER_VISIT;
        site.learn(cost, time, took, self.width.get());
        self.inside.set(0);
        self.cost.set(0);
        self.began.set(now);
    }

    /// Has the thread been without its CPU, while a measurement took `time`? Of short ones that is not asked:
    /// it would take longer. If it never gets through without, what it finds has to do.
    fn was_interrupted(&self, time: u64) -> bool {
        if time < ENOUGH / 4 {
            return false;
        }
        let now = time::switches_of_caller();
        let was = self.switches.get();
        self.switches.set(now);
        let dropped = self.dropped.get();
        let drop = now != was && dropped < DROPPED;
        self.dropped.set(if drop { dropped + 1 } else { 0 });
        drop
    }

    /// Saves by `save`, which is about `bytes` long, and measures that.
    #[cold]
    #[inline(never)]
    pub fn measured(&self, bytes: usize, save: impl FnOnce()) {
        let one_in = self.one_in.get();
        match self.stands_for.get() {
            0 => self.begin(1),
            1 => {}
            // The others are measured from here on, too.
            _ if self.savings.get() >= FIRST + (SHORT - FIRST) / one_in => {
                self.fold();
                self.stands_for.set(1);
            }
            _ => {}
        }
        let n = self.savings.get();
        let others = if n >= FIRST { u64::from(one_in) - 1 } else { 0 };
        self.savings.set(n.saturating_add(1));
        self.pass.set(if n + 1 >= FIRST { one_in - 1 } else { 0 });
        let start = cost_clock::ticks();
        save();
        let took = cost_clock::ticks().wrapping_sub(start);
        // An interruption, or a page that is touched for the first time, is not the saving's.
        let cost = took.saturating_sub(clock()).min(400 + bytes as u64) + CALL;
        self.inside.set(self.inside.get() + took + others * cost);
        self.cost.set(self.cost.get() + (1 + others) * cost);
        let so_far = start.saturating_sub(self.began.get());
        if self.cost.get() >= DEAR || so_far >= 2 * ENOUGH {
            self.fold();
        }
    }
}

/// What it takes to look at the clock, in ticks.
pub(super) fn clock() -> u64 {
    static TAKES: AtomicU64 = AtomicU64::new(0);
    let known = TAKES.load(Relaxed);
    if known != 0 {
        return known;
    }
    let one = || {
        let t = cost_clock::ticks();
        cost_clock::ticks().wrapping_sub(t)
    };
    let least = (0..32).map(|_| one()).min().unwrap_or(1).max(1);
    TAKES.store(least, Relaxed);
    least
}

#[cfg(test)]
mod tests {
    use super::super::price::ON;
    use super::*;

    #[test]
    fn the_first_savings_are_measured_and_a_share_of_the_others() {
        static SITE: Site = Site::new(ON);
        let gauge = Gauge::default();
        gauge.start(&SITE, 1);
        gauge.began.set(gauge.began.get() + (1 << 40)); // nothing is long enough to be told to the site
        let costs: Vec<u64> = (0..u64::from(FIRST + 5 * ONE_IN))
            .map(|_| {
                gauge.cost.set(0);
                if gauge.is_due() {
                    gauge.measured(8, || ());
                }
                gauge.cost.get()
            })
            .collect();
        let (first, others) = costs.split_at(FIRST as usize);
        assert!(first.iter().all(|&c| c >= CALL));
        let told: Vec<usize> = (0..others.len()).filter(|&i| others[i] > 0).collect();
        assert_eq!(told, [7, 15, 23, 31, 39]);
        assert!(told.iter().all(|&i| others[i] >= u64::from(ONE_IN) * CALL));
    }
    #[test]
    fn few_visits_on_credit_are_measured_and_all_long_ones() {
        static SITE: Site = Site::new(ON);
        let gauge = Gauge::default();
        let visit = |savings: u32| {
            gauge.start_lent(&SITE, 1);
            gauge.began.set(1 << 60); // as above
            let mut measured = 0;
            for _ in 0..savings {
                gauge.cost.set(0);
                if gauge.is_due() {
                    gauge.measured(8, || ());
                    gauge.began.set(1 << 60);
                    measured += 1;
                }
            }
            let stands_for = gauge.stands_for.get();
            gauge.site.set(0);
            (measured, stands_for)
        };
        let short: Vec<_> = (0..2 * LENT_IN).map(|_| visit(SHORT)).collect();
        let all = FIRST + (SHORT - FIRST) / LENT_ONE_IN;
        for (n, found) in (1..).zip(short) {
            assert_eq!(found, if n % LENT_IN == 0 { (all, LENT_IN) } else { (0, 0) });
        }
        let long: Vec<_> = (0..LENT_IN).map(|_| visit(SHORT + FIRST + LENT_ONE_IN)).collect();
        let (last, others) = long.split_last().expect("some");
        assert!(others.iter().all(|&found| found == (FIRST + 1, 1)));
        assert_eq!(*last, (all + 2, 1), "what is behind the first counts once");
    }
}
