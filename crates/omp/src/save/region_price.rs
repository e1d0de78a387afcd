//! What save points take in a region, measured by the thread that encounters it: how long regions of one site
//! take with them, and some that go without. The difference is what leaving them out is worth.
//!
//! What a save point takes of itself is not that: behind it the calls that it is in take their usual way, and
//! loops are handed out that could be dealt out. So regions are compared as wholes. Which ones go without is
//! drawn: whatever lengths regions have in turn, both ways see the same. And it is drawn only where save
//! points may have taken long enough to count: of programs that are soon done no region goes without.

use crate::sys::own::Own;
use promp_settings::save_budget::ENOUGH;

/// What a save point takes, and all that it closes the light ways of, at most and mostly (ticks).
const DEAREST: u64 = 1500;
const USUAL: u64 = 250;
/// So many regions tell how long the others are.
const FIRST: u32 = 8;
/// So many that go without tell, ...
const TOLD: u32 = 8;
/// ... so many are tried soon, one in 16; of others fewer.
const SOON: u32 = 16;
const ONE_IN: [u32; 2] = [16, 64];
/// Save points may have taken so long before one goes without (ticks): some milliseconds, or, where a budget
/// is set, what is enough to tell.
const WORTH_IT: [u64; 2] = [16_000_000, 10 * ENOUGH];
/// A region that takes so many times the mean was interrupted.
const OUTLIER: u64 = 8;
/// What was found long ago counts half after so many regions.
const MANY: u32 = 256;
/// Sites of which a thread knows both ways at a time.
const SITES: usize = 8;

/// So many regions, and their sum.
#[derive(Clone, Copy, Default)]
struct Sum {
    n: u32,
    sum: u64,
}

impl Sum {
    fn mean(self) -> u64 {
        self.sum / u64::from(self.n.max(1))
    }

    /// One more, where `usual` is the mean of those that were measured; 0: that is not known.
    fn add(&mut self, one: u64, usual: u64) {
        self.sum += if usual == 0 { one } else { one.min(OUTLIER * usual) };
        self.n += 1;
        if self.n == MANY {
            *self = Sum { n: self.n / 2, sum: self.sum / 2 };
        }
    }
}

/// What is known of a site's regions.
#[derive(Clone, Copy, Default)]
struct Known {
    site: usize,
    with: Sum,
    without: Sum,
    /// Save points of those with.
    points: Sum,
    /// Regions with save points, all told.
    seen: u32,
    /// One went without: the next ones find the code for that in the caches.
    is_warm: bool,
}

impl Known {
    /// At most this is what save points take of a region.
    fn most(&self) -> u64 {
        self.points.mean().saturating_mul(DEAREST)
    }

    /// What they take, and the rest, of a region; `None`: not known.
    fn price(&self) -> Option<(u64, u64)> {
        if self.with.n < FIRST {
            return None;
        }
        if self.without.n < TOLD {
            // Is it so long that it makes no difference what they take?
            return self.is_long().then(|| (self.most(), self.with.mean()));
        }
        let (with, without) = (self.with.mean(), self.without.mean());
        Some((with.saturating_sub(without).min(self.most()), without))
    }

    /// Are they a hundredth of it at most?
    fn is_long(&self) -> bool {
        self.most() * 100 <= self.with.mean()
    }
}

/// A thread's measurement.
#[derive(Default)]
pub(crate) struct RegionPrice {
    /// The site of the region that is measured; 0: none is.
    site: Own<usize>,
    began: Own<u64>,
    /// Save points that the thread had passed then.
    points: Own<u64>,
    draws: Own<u32>,
    known: [Own<Known>; SITES],
}

/// What a region has told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Told {
    /// The site.
    pub(super) site: usize,
    /// What save points take of regions, and the rest; of as many as the means are of.
    pub(super) price: (u64, u64),
    /// What they have taken since something was told.
    pub(super) took: u64,
}

impl RegionPrice {
    /// A region of `site` begins `now`, by the clock and by the thread's save points: is it one to go
    /// without? `soon`: a budget is set.
    pub(super) fn begin(&self, site: usize, now: (u64, u64), soon: bool) -> bool {
        self.start(site, now);
        let known = self.slot(site).get();
        if known.site != site || known.with.n < FIRST || known.is_long() {
            return false;
        }
        let took = (known.points.mean() * USUAL).saturating_mul(known.seen.into());
        if took < WORTH_IT[usize::from(soon)] {
            return false;
        }
        self.draw().is_multiple_of(ONE_IN[usize::from(known.without.n >= SOON)])
    }

    /// What is measured tells nothing.
    pub(super) fn leave_out(&self) {
        self.site.set(0);
    }

    /// Is one measured?
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.site.get() != 0
    }

    /// It has ended, which went `without`. Every few regions of a site are worth telling.
    pub(super) fn end(&self, (now, points): (u64, u64), without: bool) -> Option<Told> {
        let (site, took) = (self.site.get(), now.saturating_sub(self.began.get()));
        self.site.set(0);
        let slot = self.slot(site);
        let mut known = slot.get();
        if known.site != site {
            known = Known { site, ..Known::default() };
        }
        // The first ones are found by what the others take, if that is known.
        let usual = if known.with.n < FIRST { known.without.mean() } else { known.with.mean() };
        if !without {
            known.with.add(took, usual);
            known.points.add(points.wrapping_sub(self.points.get()), 0);
            known.seen = known.seen.saturating_add(1);
        } else if known.is_warm {
            known.without.add(took, usual);
        }
        known.is_warm |= without;
        slot.set(known);
        let due = !without && known.seen.is_multiple_of(FIRST);
        let (cost, time) = known.price().filter(|_| due)?;
        let n = u64::from(known.with.n);
        Some(Told { site, price: (cost * n, time * n), took: cost * u64::from(FIRST) })
    }

    /// The measurement of one begins.
    pub(super) fn start(&self, site: usize, (now, points): (u64, u64)) {
        self.site.set(site);
        self.began.set(now);
        self.points.set(points);
    }

    /// Save points of `site` are tried again: what they take may be something else by now.
    pub(super) fn forget(&self, site: usize) {
        let known = self.slot(site).get();
        if known.site == site {
            self.slot(site).set(Known { with: Sum::default(), points: Sum::default(), ..known });
        }
    }

    fn slot(&self, site: usize) -> &Own<Known> {
        &self.known[site / size_of::<super::price::Site>() % SITES]
    }

    /// A number (xorshift; G. Marsaglia, 2003).
    fn draw(&self) -> u32 {
        let mut x = self.draws.get() | u32::from(self.draws.get() == 0);
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.draws.set(x);
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many regions that take the i-th of `lengths` in turn, and `more` with save points: how many go
    /// without, and what is told.
    fn found(regions: usize, lengths: &[u64], more: u64, soon: bool) -> (usize, Vec<(u64, u64)>) {
        let (price, mut without, mut told) = (RegionPrice::default(), 0, vec![]);
        for i in 0..regions {
            let goes = price.begin(32, (1000, 7), soon);
            without += usize::from(goes);
            let took = lengths[i % lengths.len()] + if goes { 0 } else { more };
            let points = if goes { 0 } else { 4 };
            told.extend(price.end((1000 + took, 7 + points), goes).map(|t| t.price));
        }
        (without, told)
    }

    #[test]
    fn both_ways_are_compared_whatever_lengths_come_in_turn() {
        for lengths in [&[1000][..], &[500, 1500], &[100, 100, 100, 3700, 1000, 1000, 1000, 1000]] {
            let (without, told) = found(10_000, lengths, 800, true);
            let (cost, time) = told[told.len() - 1];
            let share = cost as f64 / time as f64;
            assert!((0.55..1.1).contains(&share), "{lengths:?}: {share}");
            assert!((100..400).contains(&without), "{without}");
        }
    }

    #[test]
    fn programs_that_are_soon_done_have_no_region_without() {
        let regions = |soon: bool| (WORTH_IT[usize::from(soon)] / (4 * USUAL)) as usize;
        for soon in [false, true] {
            assert_eq!(found(regions(soon), &[1000], 800, soon).0, 0);
            assert!(found(2 * regions(soon), &[1000], 800, soon).0 > 0);
        }
    }

    #[test]
    fn long_regions_are_never_tried() {
        let (without, told) = found(10_000, &[4 * DEAREST * 100], 800, true);
        assert_eq!(without, 0);
        assert!(told.iter().all(|(cost, time)| cost * 100 <= *time), "{:?}", told[0]);
    }

    #[test]
    fn save_points_never_take_more_than_they_can() {
        let (_, told) = found(5000, &[100_000], 1_000_000, true);
        assert!(told.iter().all(|(cost, _)| *cost <= u64::from(MANY) * 4 * DEAREST), "{told:?}");
    }

    #[test]
    fn what_was_found_of_other_sites_is_not_used() {
        let price = RegionPrice::default();
        for site in [32, 32 + 32 * SITES].repeat(2 * FIRST as usize) {
            assert!(!price.begin(site, (0, 0), true));
            assert_eq!(price.end((1000, 4), false), None);
        }
    }
}
