//! What saving old values takes, measured: by a thread, of one site at a time (saving.rs), from the time when
//! it comes to the site to the next site or save point.
//!
//! What an interrupted thread has measured does not count: the loop's time would be that of other programs,
//! too, and hide any price.

use super::pace;
use super::saving::{CALL, DEAR, ENOUGH, Site};
use crate::sys::own::Own;
use crate::sys::time;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Visits of a thread until the site that is visited then is measured again, if it saves. A prime: loops that
/// follow each other in turn are each of them met.
const AGAIN: u32 = 61;
/// ... and ticks, at least: a millisecond or so.
const PAUSE: u64 = 3_000_000;
/// So many savings of a visit are measured, ...
const FIRST: u32 = 16;
/// ... and then one in so many, in place of all of these.
const ONE_IN: u32 = 8;
/// What beginning and ending a measurement takes.
const VISIT: u64 = 200;
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
    /// Savings since the measurement began.
    savings: Own<u32>,
    /// How often the kernel thread had lost its CPU when that was looked at, and measurements that have been
    /// dropped because of it.
    switches: Own<u64>,
    dropped: Own<u32>,
}

impl Gauge {
    /// Is a site measured?
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.site.get() != 0
    }

    /// One more visit of a site that saves: is it one behind which to ask [`Gauge::measures_again`]?
    #[inline(always)]
    pub fn counts_visit(&self) -> bool {
        let n = self.visits.get().wrapping_add(1);
        self.visits.set(n);
        n.is_multiple_of(AGAIN)
    }

    /// Is it time to measure a site that saves once more?
    pub fn measures_again(&self) -> bool {
        let now = pace::ticks();
        let is_time = now.wrapping_sub(self.again.get()) > PAUSE;
        if is_time {
            self.again.set(now);
        }
        is_time
    }

    /// A measurement of `site` begins, by one of `width` threads that have a CPU.
    pub fn start(&self, site: &'static Site, width: u32) {
        self.width.set(width);
        self.inside.set(0);
        self.cost.set(0);
        self.savings.set(0);
        self.began.set(pace::ticks());
        self.site.set(core::ptr::from_ref(site) as usize);
    }

    /// The measurement ends here: at the next save point, or the next site.
    #[inline(always)]
    pub fn settle(&self) {
        if self.is_on() {
            self.fold();
            self.site.set(0);
        }
    }

    #[cold]
    fn fold(&self) {
        let now = pace::ticks();
        let inside = self.inside.get();
        let time = now.saturating_sub(self.began.get()).saturating_sub(inside);
        // SAFETY: the address of a site, which is static; libraries are not unloaded while a thread is in
        // their loops.
        let site = unsafe { &*(self.site.get() as *const Site) };
        let (cost, time) = if self.was_interrupted(time) { (0, 0) } else { (self.cost.get(), time) };
        // What interruptions have taken is not the saving's, here neither.
        site.learn(cost, time, self.cost.get() + VISIT, self.width.get());
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
        let n = self.savings.get().wrapping_add(1);
        self.savings.set(n);
        if n > FIRST && !n.is_multiple_of(ONE_IN) {
            save();
            return;
        }
        let start = pace::ticks();
        save();
        let took = pace::ticks().wrapping_sub(start);
        // An interruption, or a page that is touched for the first time, is not the saving's.
        let cost = took.saturating_sub(clock()).min(400 + bytes as u64) + CALL;
        let others = if n > FIRST { u64::from(ONE_IN) - 1 } else { 0 };
        self.inside.set(self.inside.get() + took + others * cost);
        self.cost.set(self.cost.get() + (1 + others) * cost);
        let so_far = start.saturating_sub(self.began.get());
        if self.cost.get() >= DEAR || so_far >= 2 * ENOUGH {
            self.fold();
        }
    }
}

/// What it takes to look at the clock, in ticks.
fn clock() -> u64 {
    static TAKES: AtomicU64 = AtomicU64::new(0);
    let known = TAKES.load(Relaxed);
    if known != 0 {
        return known;
    }
    let one = || {
        let t = pace::ticks();
        pace::ticks().wrapping_sub(t)
    };
    let least = (0..32).map(|_| one()).min().unwrap_or(1).max(1);
    TAKES.store(least, Relaxed);
    least
}

#[cfg(test)]
mod tests {
    use super::super::saving::ON;
    use super::*;

    #[test]
    fn the_first_savings_are_measured_and_a_share_of_the_others() {
        static SITE: Site = Site::new(ON);
        let gauge = Gauge::default();
        gauge.start(&SITE, 1);
        gauge.began.set(gauge.began.get() + (1 << 40)); // nothing is long enough to be told to the site
        let mut saved = 0;
        let costs: Vec<u64> = (0..u64::from(FIRST + 5 * ONE_IN))
            .map(|_| {
                let had = gauge.cost.get();
                assert!(had < DEAR);
                gauge.cost.set(0);
                gauge.measured(8, || saved += 1);
                gauge.cost.get()
            })
            .collect();
        assert_eq!(saved, costs.len());
        let (first, others) = costs.split_at(FIRST as usize);
        assert!(first.iter().all(|&c| c >= CALL));
        let told: Vec<usize> = (0..others.len()).filter(|&i| others[i] > 0).collect();
        assert_eq!(told, [7, 15, 23, 31, 39]);
        assert!(told.iter().all(|&i| others[i] >= u64::from(ONE_IN) * CALL));
    }
}
