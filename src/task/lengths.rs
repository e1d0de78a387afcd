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

/// See the module's text. [`Own`] fields are the member's thread's.
#[derive(Default)]
pub struct Lengths {
    /// Perhaps short ones stolen in a row (hint). The thieves' line.
    perhaps: CachePadded<AtomicU32>,
    /// When the owner executed one at once last; 0: it does not.
    last: Own<u64>,
    /// Which is the first.
    trial: Own<bool>,
    /// How often it was asked.
    asked: Own<u32>,
}

impl Lengths {
    /// Owner: is the next task to be executed at once?
    #[inline]
    pub fn are_short(&self) -> bool {
        if self.last.get() != 0 {
            let now = time::ticks();
            let limit = if self.trial.get() { SHORT_TICKS } else { LONG_TICKS };
            let still = now.wrapping_sub(self.last.get()) < limit;
            self.last.set(if still { now } else { 0 });
            self.trial.set(false);
            if !still {
                self.perhaps.store(0, Relaxed);
            }
            return still;
        }
        self.asked.set(self.asked.get().wrapping_add(1));
        if self.asked.get().is_multiple_of(ENOUGH) && self.perhaps.load(Relaxed) >= ENOUGH {
            self.last.set(time::ticks());
            self.trial.set(true);
            return true;
        }
        false
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
