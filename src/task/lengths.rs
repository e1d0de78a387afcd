//! Are a member's tasks so short that it costs less to execute them than to hand them over?
//!
//! Thieves measure what they steal. That tells little of short tasks: a thief fetches several lines from the owner's cache to execute one and
//! to end it, which takes up to microseconds where lines travel slowly. So after enough tasks in a row that are not long the owner tries:
//! it executes the next one at once, and looks at the clock when it comes to the one after it. If that was short it goes on so, looking
//! at the clock at each: after the first long one it lets others have the tasks again.

use crate::sys::own::Own;
use crate::sys::time;
use core::sync::atomic::{AtomicU32, Ordering::*};
use crossbeam_utils::CachePadded;

/// Clock ticks (about a third of a nanosecond) that a task may take to count as short; that handing one over costs is about as much.
pub const SHORT_TICKS: u64 = 600;
/// From one new task to the next, with the first one's execution: no longer short.
const LONG_TICKS: u64 = 1500;
/// What a thief may need for a short task.
const PERHAPS_SHORT_TICKS: u64 = 16 * SHORT_TICKS;
/// Perhaps short tasks in a row after which one is tried.
const ENOUGH: u32 = 16;
/// How often at most the distance of trials is doubled.
const MOST_DOUBLINGS: u32 = 8;

/// See the module's text. [`Own`] fields are the member's thread's.
#[derive(Default)]
pub struct Lengths {
    /// Perhaps short ones stolen in a row (hint). The thieves' line.
    perhaps: CachePadded<AtomicU32>,
    /// When the owner executed one at once last; 0: it does not.
    last: Own<u64>,
    /// Which is the first.
    trial: Own<bool>,
    /// How often it was asked since the last trial.
    asked: Own<u32>,
    /// Vain trials in a row.
    vain: Own<u32>,
}

impl Lengths {
    /// Owner: is the next task to be executed at once?
    #[inline]
    pub fn are_short(&self) -> bool {
        if self.last.get() != 0 {
            let now = time::ticks();
            let trial = self.trial.get();
            let limit = if trial { SHORT_TICKS } else { LONG_TICKS };
            let still = now.wrapping_sub(self.last.get()) < limit;
            self.last.set(if still { now } else { 0 });
            if trial {
                self.trial.set(false);
                self.vain.set(if still { 0 } else { (self.vain.get() + 1).min(MOST_DOUBLINGS) });
            }
            if !still {
                self.perhaps.store(0, Relaxed);
            }
            return still;
        }
        let asked = self.asked.get() + 1;
        if asked < ENOUGH << self.vain.get() || self.perhaps.load(Relaxed) < ENOUGH {
            self.asked.set(asked.min(ENOUGH << MOST_DOUBLINGS));
            return false;
        }
        self.asked.set(0);
        self.trial.set(true);
        self.last.set(time::ticks());
        true
    }

    /// A thief has spent `ticks` on one of the member's tasks.
    pub fn measured(&self, ticks: u64) {
        let n = self.perhaps.load(Relaxed);
        if ticks >= PERHAPS_SHORT_TICKS {
            if n != 0 {
                self.perhaps.store(0, Relaxed);
            }
        } else if n < ENOUGH {
            self.perhaps.store(n + 1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_vain_trial_makes_the_next_one_rarer() {
        let l = Lengths::default();
        let asked_until_trial = || {
            (0..ENOUGH).for_each(|_| l.measured(PERHAPS_SHORT_TICKS - 1));
            (1..=4 * ENOUGH).find(|_| l.are_short())
        };
        for n in [ENOUGH, 2 * ENOUGH, 4 * ENOUGH] {
            assert_eq!(asked_until_trial(), Some(n));
            std::thread::sleep(Duration::from_millis(1)); // the task
            assert!(!l.are_short());
        }
        // Long ones are not tried.
        (0..ENOUGH).for_each(|_| l.measured(PERHAPS_SHORT_TICKS - 1));
        l.measured(PERHAPS_SHORT_TICKS);
        assert!((0..1000).all(|_| !l.are_short()));
    }
}
