//! How long a thread takes from one runtime call to the next, in a loop whose iterations wait for each other:
//! with save points and without. That is what leaving them out is worth, in percent of the loop's time.
//!
//! What a save point takes of itself (across.rs) decides, but is not the price: the call that it is in takes
//! its usual way, too, which without them is a light one, and both take many times what the loop does
//! between two calls. So each way is measured as a whole, by the calls that are counted in both.

use crate::sys::own::Own;

/// So many calls tell.
const ENOUGH: u32 = 16;
/// Ticks are kept in parts: there may be few of them in a call.
const PARTS: u64 = 1 << 8;
/// Loops of which a thread knows both at a time.
const LOOPS: usize = 4;

/// Of a loop, in parts of ticks a call, the least that was found; 0: not known.
#[derive(Clone, Copy, Default)]
struct Known {
    site: usize,
    with: u64,
    without: u64,
}

/// A thread's measurement.
#[derive(Default)]
pub(super) struct Pace {
    /// When it began, later by what the thread has waited and measured since.
    began: Own<u64>,
    /// What the thread's calls were counted to then.
    calls: Own<u32>,
    known: [Own<Known>; LOOPS],
}

impl Pace {
    /// A measurement begins `now`, when the thread's calls were counted to `calls`.
    pub(super) fn begin(&self, now: u64, calls: u32) {
        self.began.set(now);
        self.calls.set(calls);
    }

    /// So much of the time since is not the loop's.
    pub(super) fn leave_out(&self, ticks: u64) {
        self.began.set(self.began.get().wrapping_add(ticks));
    }

    /// A call that was counted since was none.
    pub(super) fn leave_out_call(&self) {
        self.calls.set(self.calls.get().wrapping_add(1));
    }

    /// What a call has taken since, in parts of ticks; the measurement begins anew.
    fn settle(&self, now: u64, calls: u32) -> Option<u64> {
        let n = calls.wrapping_sub(self.calls.get());
        let took = now.saturating_sub(self.began.get());
        self.begin(now, calls);
        (n >= ENOUGH).then(|| (took.saturating_mul(PARTS) / u64::from(n)).max(1))
    }

    /// In the loop with `site` all calls since were save points.
    pub(super) fn with(&self, site: usize, now: u64, calls: u32) {
        self.learn(site, now, calls, |known| &mut known.with);
    }

    /// None was. What save points take, and the rest, once both are known.
    pub(super) fn without(&self, site: usize, now: u64, calls: u32) -> Option<(u64, u64)> {
        let known = self.learn(site, now, calls, |known| &mut known.without)?;
        let both = known.with != 0 && known.without != 0;
        both.then(|| (known.with.saturating_sub(known.without), known.without))
    }

    /// What is known of the loop after the measurement, whose result goes to `place`.
    fn learn(
        &self,
        site: usize,
        now: u64,
        calls: u32,
        place: impl FnOnce(&mut Known) -> &mut u64,
    ) -> Option<Known> {
        let found = self.settle(now, calls)?;
        let slot = &self.known[site / size_of::<super::price::Site>() % LOOPS];
        let mut known = slot.get();
        if known.site != site {
            known = Known { site, ..Known::default() };
        }
        // Whatever disturbs a thread makes it slower.
        let least = place(&mut known);
        *least = if *least == 0 { found } else { found.min(*least) };
        slot.set(known);
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_what_one_way_takes_more_than_the_other() {
        let pace = Pace::default();
        pace.begin(1000, 7);
        pace.with(32, 1000 + 170 * 100, 107);
        assert_eq!(pace.without(64, 20_000, 207), None, "another loop");
        pace.begin(50_000, 300);
        pace.leave_out(5000);
        pace.leave_out_call();
        let (cost, time) = pace.without(32, 56_000, 401).expect("both are known");
        assert_eq!((cost / PARTS, time / PARTS), (160, 10));
    }

    #[test]
    fn interruptions_and_few_calls_tell_nothing() {
        let pace = Pace::default();
        for (took, calls) in [(1700, 10), (1_000_000, 100), (17_000, 100)] {
            pace.begin(0, 0);
            pace.with(32, took, calls);
        }
        for (took, calls) in [(10, 1), (1000, 100), (1_000_000, 100)] {
            pace.begin(0, 0);
            let price = pace.without(32, took, calls);
            assert_eq!(price, (calls > 1).then_some((160 * PARTS, 10 * PARTS)));
        }
    }

    #[test]
    fn calls_may_be_counted_beyond_the_end() {
        let pace = Pace::default();
        pace.begin(0, u32::MAX - 9);
        assert_eq!(pace.settle(200, 10), Some(10 * PARTS));
    }
}
