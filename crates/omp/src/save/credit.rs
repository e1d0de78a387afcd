//! What saving old values, measuring it, and save points behind what cannot be executed twice may take before
//! their price counts (price.rs): some 20 ms of the program's time, on each CPU that its threads have.
//! Programs that are soon done need not be fast, and how many threads they have makes no difference to that.

use crate::sys::time;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use promp_settings::save_budget::Budget;

/// So long (ns).
const CREDIT_NS: u64 = 20_000_000;
/// The rates that processors' counters have, in ticks a nanosecond, times two: after a restart elsewhere what
/// has passed says nothing.
const RATES: core::ops::RangeInclusive<u64> = 1..=16;
/// Parts of a tick: few ticks of one thread among many count, too.
const PARTS: u64 = 1 << 10;
/// What it has taken of the program's time (parts of ticks). What comes later is not added.
static SPENT: AtomicU64 = AtomicU64::new(0);
/// The credit (parts of ticks); 0: not known yet.
static CREDIT: AtomicU64 = AtomicU64::new(0);

/// All of it, in parts of ticks. Before a millisecond has passed the counter's rate is not known, nor can
/// anybody have used it up.
fn all() -> u64 {
    match CREDIT.load(Relaxed) {
        0 => find(),
        known => known,
    }
}

#[cold]
fn find() -> u64 {
    let (ticks, ns) = time::passed();
    if ns < 1_000_000 {
        return u64::MAX;
    }
    let credit = worth(ticks, ns);
    CREDIT.store(credit, Relaxed); // whoever finds it finds about the same
    credit
}

/// ... where `ticks` have passed in `ns`.
fn worth(ticks: u64, ns: u64) -> u64 {
    let ticks = u128::from(CREDIT_NS) * u128::from(ticks) / u128::from(ns);
    let (least, most) = (CREDIT_NS / 2 * RATES.start(), CREDIT_NS / 2 * RATES.end());
    (ticks as u64).clamp(least, most) * PARTS
}

/// One of `width` threads gives `took` more ticks to saving, or to save points: is that still too little to
/// count? A budget that is set counts from the first tick on.
pub(super) fn covers(took: u64, width: u32, budget: Budget) -> bool {
    budget == Budget::DEFAULT && spend(&SPENT, all(), took, width)
}

fn spend(spent: &AtomicU64, all: u64, took: u64, width: u32) -> bool {
    let before = spent.load(Relaxed);
    if before >= all {
        return false; // threads that measure later on do not meet here
    }
    let share = took.saturating_mul(PARTS) / u64::from(width);
    // No thread adds more than once above the limit: far from overflow.
    spent.fetch_add(share, Relaxed).saturating_add(share) < all
}

/// All of it has been used.
#[cfg(test)]
pub(super) fn is_over() {
    SPENT.store(u64::MAX, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At three ticks a nanosecond.
    const ALL: u64 = 60_000_000 * PARTS;

    /// Times that `width` threads together may take `took` ticks.
    fn times(took: u64, width: u32) -> u64 {
        let spent = AtomicU64::new(0);
        (0..).take_while(|_| spend(&spent, ALL, took, width)).count() as u64
    }

    #[test]
    fn is_a_time_at_any_rate_of_the_counter() {
        assert_eq!(worth(3_000_000, 1_000_000), ALL);
        assert_eq!(worth(21_000_000, 10_000_000), 42_000_000 * PARTS);
        // The counter of another machine.
        assert_eq!(worth(1, u64::MAX), 10_000_000 * PARTS);
        assert_eq!(worth(u64::MAX, 1), 160_000_000 * PARTS);
    }

    #[test]
    fn is_time_of_the_program_whatever_the_number_of_threads() {
        let took = ALL / PARTS / 1000;
        assert_eq!(times(took, 1), 999);
        assert_eq!(times(took, 2), 1999);
        assert_eq!(times(took, 64), 63_999);
    }

    #[test]
    fn little_of_one_thread_among_many_counts() {
        let (spent, many) = (AtomicU64::new(0), 4096);
        assert!(spend(&spent, ALL, 12, many) && spent.load(Relaxed) == 12 * PARTS / u64::from(many));
    }

    #[test]
    fn what_is_over_stays_over() {
        let spent = AtomicU64::new(0);
        assert!(!spend(&spent, ALL, u64::MAX, 1));
        assert!(!spend(&spent, ALL, 0, 64));
        assert!(spent.load(Relaxed) >= ALL);
    }

    #[test]
    fn a_budget_that_is_set_counts_at_once() {
        assert!(!covers(0, 1, Budget::Share(0.05)));
        assert!(!covers(0, 1, Budget::Unlimited));
    }
}
