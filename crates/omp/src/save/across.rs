//! What save points take in a loop whose iterations wait for each other, measured.
//!
//! Each wait and each post of a doacross nest, and both ends of an ordered section, are save points. Between
//! two of them there may be a handful of instructions: then copying the thread's state there takes many
//! times as long as the loop. across_points.rs asks what is found here, and has them left out.
//!
//! A thread measures one loop at a time: the first save points, and one in some of those that follow, in
//! place of all. Time in which it waits for others is the loop's no more than theirs.

use super::gauge::{FIRST, ONE_IN};
use crate::sys::own::Own;
use promp_settings::save_budget::{DEAR, ENOUGH};

/// A thread's measurement.
#[derive(Default)]
pub(crate) struct Across {
    /// The loop's site; 0: nothing is measured.
    site: Own<usize>,
    /// When it began, later by what the thread has waited since.
    began: Own<u64>,
    /// What save points have taken since.
    cost: Own<u64>,
    /// How many there were.
    points: Own<u32>,
}

impl Across {
    /// The measurement of the loop with `site` begins.
    pub(super) fn start(&self, site: usize, now: u64) {
        self.site.set(site);
        self.points.set(0);
        self.again(now);
    }

    /// It ends: the site, 0 if there was none, and what was found and not told yet.
    pub(super) fn settle(&self, now: u64) -> (usize, (u64, u64)) {
        let site = self.pause();
        let all = now.saturating_sub(self.began.get());
        (site, (self.cost.get(), all.saturating_sub(self.cost.get())))
    }

    /// Nothing is measured until [`Across::resume`] is given this.
    pub(super) fn pause(&self) -> usize {
        let site = self.site.get();
        self.site.set(0);
        site
    }

    /// See [`Across::pause`].
    pub(super) fn resume(&self, site: usize) {
        self.site.set(site);
    }

    fn again(&self, now: u64) {
        self.began.set(now);
        self.cost.set(0);
    }

    /// Is something measured?
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.site.get() != 0
    }

    /// The thread has waited for so long.
    pub(crate) fn waited(&self, ticks: u64) {
        self.began.set(self.began.get().wrapping_add(ticks));
    }

    /// One more save point: is it to be measured?
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        if !self.is_on() {
            return false;
        }
        let n = self.points.get().wrapping_add(1);
        self.points.set(n);
        n <= FIRST || n.is_multiple_of(ONE_IN)
    }

    /// It has taken so long, until `now`. What all have taken, and the rest of the loop, once that is long
    /// enough to tell; the measurement goes on behind that.
    pub(super) fn took(&self, ticks: u64, now: u64) -> Option<(u64, u64)> {
        let stands_for = if self.points.get() <= FIRST { 1 } else { u64::from(ONE_IN) };
        let cost = self.cost.get() + stands_for * ticks;
        let all = now.saturating_sub(self.began.get());
        self.cost.set(cost);
        if cost < DEAR && all < ENOUGH {
            return None;
        }
        self.again(now);
        Some((cost, all.saturating_sub(cost)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found where each of so many save points takes `cost`, `every` so many ticks, of which the
    /// thread waits `waits`.
    fn found(points: u64, cost: u64, every: u64, waits: u64) -> Vec<(u64, u64)> {
        let across = Across::default();
        across.start(8, 0);
        let one = |n: u64| {
            across.waited(waits);
            if across.is_due() { across.took(cost, n * every) } else { None }
        };
        (1..=points).filter_map(one).collect()
    }

    #[test]
    fn few_of_many_stand_for_all() {
        let all = found(10_000, 100, 150, 0);
        assert!(all.len() > 10, "{}", all.len());
        for (cost, time) in &all[1..] {
            let (share, is) = (*cost as f64 / *time as f64, 100.0 / 50.0);
            assert!((share - is).abs() < 0.1, "{cost} of {time}");
        }
    }

    #[test]
    fn nothing_is_told_before_it_is_long_enough() {
        assert_eq!(found(DEAR / 100 - 1, 100, 120, 0).len(), 0);
        assert_eq!(found(1, 0, ENOUGH, 0), [(0, ENOUGH)]);
    }

    #[test]
    fn waiting_hides_no_price() {
        let share = |found: Vec<(u64, u64)>| found[1].0 as f64 / found[1].1 as f64;
        let (busy, waiting) = (found(10_000, 100, 150, 0), found(10_000, 100, 1150, 1000));
        assert!((share(busy) - share(waiting)).abs() < 0.1);
    }

    #[test]
    fn nothing_is_measured_unless_it_was_started() {
        let across = Across::default();
        assert!(!across.is_on() && !across.is_due());
    }
}
