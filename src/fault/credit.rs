//! What saving old values, measuring it, and save points behind what cannot be executed twice may take before
//! their price counts (saving.rs): some 20 ms of the program's time, on each CPU that its threads have.
//! Programs that are soon done need not be fast, and how many threads they have makes no difference to that.

use super::saving::Budget;
use crate::team::pool;
use crate::team::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Some 20 ms (ticks).
const CREDIT: u64 = 64_000_000;
/// Parts of a tick: few ticks of one thread among many count, too.
const PARTS: u64 = 1 << 10;
/// What it has taken of the program's time (parts of ticks). What comes later is not added.
static SPENT: AtomicU64 = AtomicU64::new(0);

/// How many of the threads that execute the same regions as `thr` have a CPU at the same time: of the
/// program's time, saving in one of them takes one part in so many.
pub(super) fn width(thr: &'static Thread) -> u32 {
    let mut team = thr.team();
    let mut threads = team.size.get();
    while let Some(parent) = team.primary.parent.get() {
        team = parent.team();
        threads = threads.saturating_mul(team.size.get());
    }
    threads.clamp(1, pool::cpus().max(1))
}

/// One of `width` threads gives `took` more ticks to saving, or to save points: is that still too little to
/// count? A budget that is set counts from the first tick on.
pub(super) fn covers(took: u64, width: u32, budget: Budget) -> bool {
    budget == Budget::DEFAULT && spend(&SPENT, took, width)
}

fn spend(spent: &AtomicU64, took: u64, width: u32) -> bool {
    let before = spent.load(Relaxed);
    if before >= CREDIT * PARTS {
        return false; // threads that measure later on do not meet here
    }
    let share = took.saturating_mul(PARTS) / u64::from(width);
    // No thread adds more than once above the limit: far from overflow.
    spent.fetch_add(share, Relaxed).saturating_add(share) < CREDIT * PARTS
}

/// All of it has been used.
#[cfg(test)]
pub(super) fn is_over() {
    SPENT.store(CREDIT * PARTS, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that `width` threads together may take `took` ticks.
    fn times(took: u64, width: u32) -> u64 {
        let spent = AtomicU64::new(0);
        (0..).take_while(|_| spend(&spent, took, width)).count() as u64
    }

    #[test]
    fn is_time_of_the_program_whatever_the_number_of_threads() {
        let took = CREDIT / 1000;
        assert_eq!(times(took, 1), 999);
        assert_eq!(times(took, 2), 1999);
        assert_eq!(times(took, 64), 63_999);
    }

    #[test]
    fn little_of_one_thread_among_many_counts() {
        let (spent, many) = (AtomicU64::new(0), 4096);
        assert!(spend(&spent, 12, many) && spent.load(Relaxed) == 12 * PARTS / u64::from(many));
    }

    #[test]
    fn what_is_over_stays_over() {
        let spent = AtomicU64::new(0);
        assert!(!spend(&spent, u64::MAX, 1));
        assert!(!spend(&spent, 0, 64));
        assert!(spent.load(Relaxed) >= CREDIT * PARTS);
    }

    #[test]
    fn a_budget_that_is_set_counts_at_once() {
        assert!(!covers(0, 1, Budget::Share(0.05)));
        assert!(!covers(0, 1, Budget::Unlimited));
    }
}
