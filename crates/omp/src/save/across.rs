//! What save points take in a loop whose iterations wait for each other, measured.
//!
//! Each wait and each post of a doacross nest, and both ends of an ordered section, are save points. Between
//! two of them there may be a handful of instructions: then copying the thread's state there takes many
//! times as long as the loop. across_points.rs asks what is found here, and has them left out.
//!
//! A thread measures one loop at a time: the first save points, and one in some of those that follow, in
//! place of all. Time in which it waits for others is the loop's no more than theirs. Where they are left
//! out, it measures what the loop takes then: the price (pace.rs).

use super::gauge::{FIRST, ONE_IN, clock};
use super::pace::Pace;
use crate::sys::own::Own;
use promp_settings::save_budget::{DEAR, ENOUGH};

/// A call that takes longer has waited (ticks).
const A_WAIT: u64 = 1000;
/// Save points are left out while this is measured: a bit that no site's address has.
const WITHOUT: usize = 1;

/// A thread's measurement.
#[derive(Default)]
pub(crate) struct Across {
    /// The loop's site, and [`WITHOUT`]; 0: nothing is measured.
    site: Own<usize>,
    /// When it began, later by what the thread has waited since.
    began: Own<u64>,
    /// What save points have taken since.
    cost: Own<u64>,
    /// How many there were.
    points: Own<u32>,
    pace: Pace,
}

impl Across {
    /// The measurement of the loop with `site` begins. `now`: ticks, and the number of the thread's calls.
    pub(super) fn start(&self, site: usize, now: (u64, u32)) {
        self.site.set(site);
        self.points.set(0);
        self.again(now.0);
        self.pace.begin(now.0, now.1);
    }

    /// The same, where save points are left out.
    pub(super) fn start_without(&self, site: usize, now: (u64, u32)) {
        self.site.set(site | WITHOUT);
        self.pace.begin(now.0, now.1);
    }

    /// Are they, in what is measured?
    pub(super) fn is_without(&self) -> bool {
        self.site.get() & WITHOUT != 0
    }

    /// It ends: the site, 0 if there was none, and what was found and not told yet.
    pub(super) fn settle(&self, now: (u64, u32)) -> (usize, (u64, u64)) {
        let site = self.pause();
        self.pace.with(site, now.0, now.1);
        let all = now.0.saturating_sub(self.began.get());
        (site, (self.cost.get(), all.saturating_sub(self.cost.get())))
    }

    /// It ends, where save points are left out: the site, and what they would take, and the rest, if that is
    /// known.
    pub(super) fn settle_without(&self, now: (u64, u32)) -> (usize, Option<(u64, u64)>) {
        let site = self.pause() & !WITHOUT;
        (site, self.pace.without(site, now.0, now.1))
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

    /// A call was counted twice: its light way was none.
    pub(super) fn counted_twice(&self) {
        self.pace.leave_out_call();
    }

    /// Is something measured?
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.site.get() != 0
    }

    /// Is it, with save points? Without, waits are not timed: that would cost what leaving them out spares.
    #[inline(always)]
    pub(crate) fn times_waits(&self) -> bool {
        self.is_on() && !self.is_without()
    }

    /// The thread has waited for so long.
    pub(crate) fn waited(&self, ticks: u64) {
        self.began.set(self.began.get().wrapping_add(ticks));
        // What it takes to see that there is nothing to wait for is the loop's.
        self.pace.leave_out(if ticks > A_WAIT { ticks + clock() } else { 2 * clock() });
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

    /// It has taken so long, in the loop with `site`, until `now`. What all have taken, and the rest of the
    /// loop, once that is long enough to tell; the measurement goes on behind that.
    pub(super) fn took(&self, ticks: u64, site: usize, now: (u64, u32)) -> Option<(u64, u64)> {
        let stands_for = if self.points.get() <= FIRST { 1 } else { u64::from(ONE_IN) };
        let cost = self.cost.get() + stands_for * ticks;
        let all = now.0.saturating_sub(self.began.get());
        self.cost.set(cost);
        match self.points.get() {
            // The first are not what others are.
            FIRST => self.pace.begin(now.0, now.1),
            _ => self.pace.leave_out(2 * clock()),
        }
        if cost < DEAR && all < ENOUGH {
            return None;
        }
        self.pace.with(site, now.0, now.1);
        self.again(now.0);
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
        across.start(8, (0, 0));
        let one = |n: u64| {
            across.waited(waits);
            if across.is_due() { across.took(cost, 8, (n * every, n as u32)) } else { None }
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
    fn the_price_is_the_difference_of_both_ways() {
        let across = Across::default();
        across.start(32, (0, 0));
        let one = |n: u32| across.is_due().then(|| across.took(100, 32, (u64::from(n) * 1000, n)));
        assert!((1..=2 * FIRST + 200).filter_map(one).any(|told| told.is_some()));
        across.start_without(32, (0, 5));
        assert!(across.is_on() && across.is_without());
        let (site, price) = across.settle_without((10_000, 105));
        let (cost, time) = price.expect("both are known");
        let times = cost as f64 / time as f64;
        // The clock's own time is left out.
        assert!(site == 32 && (7.0..=9.0).contains(&times), "{times}");
        assert!(!across.is_on() && !across.is_without());
    }

    #[test]
    fn nothing_is_measured_unless_it_was_started() {
        let across = Across::default();
        assert!(!across.is_on() && !across.is_due());
    }
}
