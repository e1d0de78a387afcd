//! Are a member's tasks so short that it costs less to execute them than to hand them over?
//!
//! Thieves measure what they steal. After enough short tasks in a row the owner executes new ones at once, and looks at the clock at
//! each: after the first long one it lets others have the tasks again.

use crate::sys::own::Own;
use crate::sys::time;
use core::sync::atomic::{AtomicU32, Ordering::*};
use crossbeam_utils::CachePadded;

/// Clock ticks (about a third of a nanosecond) that a task may take to count as short; that handing one over costs is about as much.
pub const SHORT_TICKS: u64 = 600;
/// From one new task to the next, with the first one's execution: no longer short.
const LONG_TICKS: u64 = 1500;
/// Short tasks in a row that are convincing.
const ENOUGH: u32 = 16;

/// See the module's text. [`Own`] fields are the member's thread's.
#[derive(Default)]
pub struct Lengths {
    /// Short ones stolen in a row (hint). The thieves' line.
    short: CachePadded<AtomicU32>,
    /// When the owner executed one at once last; 0: it does not.
    last: Own<u64>,
    /// How often it was asked.
    asked: Own<u32>,
}

impl Lengths {
    /// Owner: is the next task to be executed at once?
    #[inline]
    pub fn are_short(&self) -> bool {
        if self.last.get() != 0 {
            let now = time::ticks();
            let still = now.wrapping_sub(self.last.get()) < LONG_TICKS;
            self.last.set(if still { now } else { 0 });
            if !still {
                self.short.store(0, Relaxed);
            }
            return still;
        }
        self.asked.set(self.asked.get().wrapping_add(1));
        if self.asked.get().is_multiple_of(ENOUGH) && self.short.load(Relaxed) >= ENOUGH {
            self.last.set(time::ticks());
            return true;
        }
        false
    }

    /// A thief has spent `ticks` on one of the member's tasks.
    pub fn measured(&self, ticks: u64) {
        let n = self.short.load(Relaxed);
        if ticks >= SHORT_TICKS {
            if n != 0 {
                self.short.store(0, Relaxed);
            }
        } else if n < ENOUGH {
            self.short.store(n + 1, Relaxed);
        }
    }
}
